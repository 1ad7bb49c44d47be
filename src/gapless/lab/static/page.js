// The page: the lab over a socket, with its state in the address so that a link carries it.
import { mount } from "./lab.js";

const root = document.getElementById("lab");

function channel() {
  const it = { onmessage: () => {}, onstate: () => {}, send: () => {} };
  let wait = 500;
  const open = () => {
    const socket = new WebSocket(`${location.protocol === "https:" ? "wss" : "ws"}://${location.host}/talk`);
    socket.onopen = () => { wait = 500; it.onstate(true); };
    socket.onmessage = (event) => it.onmessage(JSON.parse(event.data));
    socket.onclose = () => { it.onstate(false); setTimeout(open, wait); wait = Math.min(8000, 2 * wait); };
    it.send = (question) => { if (socket.readyState === WebSocket.OPEN) socket.send(JSON.stringify(question)); };
  };
  it.open = open;
  return it;
}

mount(root, channel(), { address: true });
