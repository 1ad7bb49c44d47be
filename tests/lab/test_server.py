"""The lab's server as an attacker and as a crowd meet it: a real one on this machine, over real sockets."""

from __future__ import annotations

import base64
import dataclasses
import io
import json
import socket
import struct
import threading
import time
import warnings
import zipfile
import zlib

import pytest

pytest.importorskip("uvicorn", reason="the lab is an extra: starlette, uvicorn, websockets")

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from websockets.exceptions import ConnectionClosed, InvalidStatus

    from gapless.lab import server as lab_server
    from gapless.lab import session as lab_session
    from gapless.lab.limits import LIMITS
    from gapless.lab.scenes import NAMES, scene
    from tests.lab.running import COOKIE, TOKEN, ask, fetch, get, hear, served, talk

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module")
def port():
    with served() as where:
        yield where


def test_the_token_becomes_a_cookie_and_leaves_the_address(port):
    status, headers, _ = get(port, f"/?token={TOKEN}")
    assert (status, headers["location"]) == (303, "/")
    cookie = headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert "domain" not in cookie
    assert "token" not in headers["location"]
    status, headers, body = get(port, "/", Cookie=f"gapless_lab={TOKEN}")
    assert status == 200
    assert b"lab" in body
    rules = dict(rule.strip().split(" ", 1) for rule in headers["content-security-policy"].split(";"))
    assert rules["default-src"] == "'none'"
    assert rules["script-src"] == rules["style-src"] == rules["connect-src"] == "'self'"
    assert rules["frame-ancestors"] == rules["base-uri"] == "'none'"
    assert not {"unsafe-inline", "unsafe-eval", "*"} & set(headers["content-security-policy"].replace("'", " ").split())


@pytest.mark.parametrize("path", ["/", "/?token=wrong", "/static/lab.js"])
def test_without_the_token_nothing_is_served(port, path):
    assert get(port, path)[0] == 403


@pytest.mark.parametrize(
    "name",
    ["evil.example", "127.0.0.1", "127.0.0.1:1", "localhost.evil.example:{port}", "0.0.0.0:{port}", "[::1]:{port}"],
)
def test_the_socket_knows_its_names(port, name):
    with socket.create_connection(("127.0.0.1", port), timeout=10) as plain:
        host = name.format(port=port)
        key = base64.b64encode(b"0123456789abcdef").decode()
        plain.sendall(
            f"GET /talk HTTP/1.1\r\nHost: {host}\r\nOrigin: http://{host}\r\nCookie: {COOKIE}\r\nConnection: Upgrade\r\n"
            f"Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}\r\n\r\n".encode()
        )
        assert plain.recv(200).startswith(b"HTTP/1.1 403")


def test_another_name_for_this_machine_is_refused(port):
    assert get(port, f"/?token={TOKEN}", Host="evil.example")[0] == 403
    assert get(port, "/static/lab.js", Host="evil.example", Cookie=f"gapless_lab={TOKEN}")[0] == 403


@pytest.mark.parametrize(
    "path",
    [
        "/static/../server.py",
        "/static/..%2fserver.py",
        "/static/%2e%2e/server.py",
        "/static/..%5cserver.py",
        "/static//etc/passwd",
        "/static/index.html",
        "/static/nothing.js",
        "/../../../../etc/passwd",
        "/etc/passwd",
    ],
)
def test_no_path_from_a_browser_is_opened(port, path):
    assert get(port, path, Cookie=f"gapless_lab={TOKEN}")[0] == 404


def test_every_file_of_the_page_is_served_with_the_policy(port):
    for name in lab_server.FILES:
        status, headers, body = get(port, f"/static/{name}", Cookie=f"gapless_lab={TOKEN}")
        assert status == 200
        assert body
        assert headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize(
    "given",
    [
        {"cookie": ""},
        {"cookie": "gapless_lab=wrong"},
        {"cookie": "gapless_lab="},
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"origin": "https://127.0.0.1"},
    ],
)
def test_the_socket_opens_for_the_page_alone(port, given):
    with pytest.raises(InvalidStatus) as refused:
        talk(port, **given)
    assert refused.value.response.status_code == 403


def test_a_drawing_over_the_socket_is_the_scenes_own(port):
    state = scene("three_models").begin(2)
    with talk(port) as ws:
        answer = ask(ws, ask="draw", scene="three_models", state=state.to_json(), seq=7)
    assert answer["seq"] == 7
    assert answer["drawing"] == json.loads(json.dumps(scene("three_models").look(state).to_json()))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{",
        "NaN",
        "[" * 5000,
        '{"ask":"eval"}',
        '{"ask":"draw"}',
        '{"ask":"draw","scene":"../server"}',
        '{"ask":"draw","scene":["margin"]}',
        '{"ask":"draw","scene":"margin","state":{"points":[[0,NaN,1]]}}',
        '{"ask":"draw","scene":"margin","state":{"points":[[0,1e99,1]]}}',
        '{"ask":"begin","scene":"margin","seed":-1}',
        '{"ask":"model","scene":"descent","state":{}}',
    ],
)
def test_nonsense_gets_an_error_and_the_server_goes_on(port, text):
    with talk(port) as ws:
        ws.send(text)
        assert hear(ws)["error"]
        assert ask(ws, ask="begin", scene="margin", seed=1)["state"]["points"]


def test_a_message_that_is_too_long_ends_that_visit_only(port):
    with talk(port) as ws, talk(port) as other:
        ws.send("x" * (LIMITS.message_bytes + 10))
        ws.recv(timeout=10)  # how warm the kernels are
        with pytest.raises(ConnectionClosed, match="1009"):
            ws.recv(timeout=10)
        assert ask(other, ask="begin", scene="margin", seed=1)["state"]["points"]


def test_a_short_message_that_unpacks_to_a_long_one_ends_that_visit_only(port):
    with talk(port, compression="deflate") as ws, talk(port) as other:
        ws.send('{"ask":"begin","scene":"' + " " * 20_000_000 + '"}')  # some 20 kB on the wire
        with pytest.raises(ConnectionClosed):
            hear(ws)
        assert ask(other, ask="begin", scene="margin", seed=1)["state"]["points"]


def test_a_frame_that_promises_more_than_comes_ends_that_visit_only(port):
    with talk(port) as ws, talk(port) as other:
        ws.recv(timeout=10)
        ws.socket.sendall(struct.pack("!BBQ4s", 0x81, 0x80 | 127, 1 << 40, b"mask"))
        with pytest.raises(ConnectionClosed, match="1009"):
            ws.recv(timeout=10)
        assert ask(other, ask="begin", scene="margin", seed=1)["state"]["points"]


def test_a_million_points_are_refused(port):
    many = '{"ask":"draw","scene":"%s","state":{"points":[' + "[0,0,1]," * 999_999 + "[0,0,1]]}}"
    with talk(port) as ws, talk(port) as other:
        ws.send(many % "margin")
        with pytest.raises(ConnectionClosed, match="1009"):
            hear(ws)
        assert ask(other, ask="begin", scene="margin", seed=1)["state"]["points"]


def test_as_many_points_as_a_message_holds_are_refused(port):
    many = [[0, 0, 1]] * 20_000
    with talk(port) as ws:
        assert "2,000" in ask(ws, ask="draw", scene="margin", state={"points": many})["error"]
        long = ask(
            ws, ask="draw", scene="margin", state={"points": many * 3}
        )  # over the limit of a message without files
        assert str(LIMITS.plain_bytes // 1024) in long["error"]
        assert "at most 0 points" in ask(ws, ask="draw", scene="your_data", state={"points": many * 3})["error"]


def _upload(**files):
    return {
        "points": [],
        "files": {
            slot: {"name": name, "content": base64.b64encode(content).decode()}
            for slot, (name, content) in files.items()
        },
    }


def _packed(megabytes=300):
    """A gzip of lines, made piece by piece."""
    made = zlib.compressobj(9, wbits=31)
    return b"".join([made.compress(b"1,2\n" * 250_000) for _ in range(megabytes)] + [made.flush()])


def _zip_bomb():
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive, archive.open("model.json", "w") as inside:
        for _ in range(300):
            inside.write(b"0" * 1_000_000)
    return packed.getvalue()


BOMBS = {
    "a line of commas": lambda: b"," * (LIMITS.file_bytes - 10) + b"\n1\n",
    "lines without end": lambda: b"x\n" + b"1\n" * 250_000,
    "a quote that never closes": lambda: b'a,b\n1,"' + b"x\n" * 250_000,
    "as many texts as cells": lambda: b"".join(
        [b",".join(b"c%d" % j for j in range(100)) + b",y\n"]
        + [b",".join(b"t%d" % (100 * i + j) for j in range(100)) + b",%d\n" % (i % 2) for i in range(600)]
    ),
    "a cell of digits": lambda: b"x,y\n" + b"9" * 400_000 + b",1\n2,0\n",
    "columns wide": lambda: (
        b",".join(b"c%d" % j for j in range(999))
        + b",y\n"
        + b"\n".join([b"1," * 999 + b"%d" % (i % 2) for i in range(240)])
    ),
    "gzip of 300 MB": _packed,
    "zip of 300 MB": _zip_bomb,
    "no text at all": lambda: bytes(range(256)) * 1000,
    "an index beyond everything": lambda: b"1 99999999999:1\n-1 2:1\n" * 50,
    "nothing": lambda: b"",
    "nan and inf": lambda: b"x,y\nnan,1\ninf,0\n-inf,1\n1e999,0\n2,1\n",
}


@pytest.mark.parametrize("name", BOMBS)
def test_a_table_that_is_a_bomb_is_refused_and_the_server_goes_on(port, name):
    import resource

    content = BOMBS[name]()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with talk(port) as ws:
        began = time.monotonic()
        answer = ask(ws, 120, ask="draw", scene="your_data", state=_upload(table=("bomb.csv", content)))
        took = time.monotonic() - began
        told = answer.get("error") or answer["drawing"]["sentence"]
        assert told
        assert "fault of gapless" not in told
        if name not in ("columns wide", "nan and inf"):  # these two are ugly, but tables
            assert "error" in answer or told.startswith("This cannot be read or fitted")
        assert took < LIMITS.answer_seconds + 5.0
        assert ask(ws, ask="begin", scene="margin", seed=1)["state"]["points"]
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    assert grown < 250.0, f"{name} took {grown:.0f} MB"


def test_svmlight_is_known_by_its_first_line(port):
    rows = "".join(f"{(-1, 1)[i % 2]} 1:{i / 10:.2f} 3:{i * 7 % 11}\n" for i in range(60))
    for content in (rows, "# a remark\n" + rows, "\ufeff" + rows):
        with talk(port) as ws:
            state = _upload(table=("rows.svm", content.encode()))
            told = ask(ws, 120, ask="draw", scene="your_data", state=state)["drawing"]
        numbers = {number["name"]: number["value"] for number in told["numbers"]}
        assert (numbers["columns"], numbers["claims"]) == ("3", numbers["claims that hold"])


@pytest.mark.parametrize("name", ["a line of commas", "gzip of 300 MB", "zip of 300 MB", "no text at all"])
def test_a_model_file_that_is_a_bomb_is_refused(port, name):
    with talk(port) as ws:
        state = _upload(table=("t.csv", b"x,y\n1,0\n2,1\n"), model=("m.gapless", BOMBS[name]()))
        answer = ask(ws, 120, ask="draw", scene="your_data", state=state)
        told = answer.get("error") or answer["drawing"]["sentence"]
        assert "error" in answer or told.startswith("This cannot be read or fitted")
        assert "fault of gapless" not in told
        assert ask(ws, ask="begin", scene="margin", seed=1)["state"]["points"]


def test_an_upload_that_is_too_large_is_refused(port):
    with talk(port) as ws, talk(port) as other:
        large = _upload(table=("t.csv", b"1,2\n" * (LIMITS.file_bytes // 4 + 10)))
        assert f"{LIMITS.file_bytes // 1024} kB" in ask(ws, ask="draw", scene="your_data", state=large)["error"]
        huge = _upload(
            table=("t.csv", b"1,2\n" * (LIMITS.file_bytes // 2)), model=("m", b"1" * (LIMITS.file_bytes // 2))
        )
        ws.send(json.dumps({"ask": "draw", "scene": "your_data", "state": huge}))
        with pytest.raises(ConnectionClosed, match="1009"):
            hear(ws)
        assert ask(other, ask="begin", scene="margin", seed=1)["state"]["points"]


@pytest.mark.parametrize("name", ["../../etc/passwd", "/etc/passwd", "C:\\boot.ini", "x" * 200])
def test_the_name_of_an_upload_is_shown_and_never_opened(port, name):
    with talk(port) as ws:
        state = _upload(table=(name, b"x,y\n" + b"1,0\n2,1\n3,1\n0,0\n" * 5))
        answer = ask(ws, ask="draw", scene="your_data", state=state)
        assert answer["drawing"]["numbers"][0] == {**answer["drawing"]["numbers"][0], "name": "rows", "value": "16"}
        assert "root:" not in json.dumps(answer)


def _with_study(monkeypatch, study):
    slow = dataclasses.replace(scene("margin"), study=study)
    monkeypatch.setattr(lab_session, "scene", lambda name: slow if name == "margin" else scene(name))


def _an_hour(X, y, C, hard, alone):
    for _ in range(3_600_000):
        time.sleep(0.001)
    return {}, {"model": None, "error": None}


def _a_stubborn_hour(X, y, C, hard, alone):
    for _ in range(3_600_000):
        try:
            time.sleep(0.001)
        except Exception:  # swallows whatever is an error
            continue
    return {}, {"model": None, "error": None}


@pytest.mark.parametrize("study", [_an_hour, _a_stubborn_hour])
def test_a_fit_that_would_take_an_hour_is_stopped_and_its_threads_are_free_again(monkeypatch, study):
    _with_study(monkeypatch, study)
    state = scene("margin").begin().to_json()
    with served(seconds=0.5) as port:
        visitors = [talk(port) for _ in range(6)]  # more than there are threads
        for ws in visitors:
            ws.send(json.dumps({"ask": "draw", "scene": "margin", "state": state, "seq": 5}))
        for ws in visitors:
            answer = hear(ws)
            assert "longer than 0.5 s" in answer["error"]
            assert answer["seq"] == 5
        for ws in visitors:
            assert ask(ws, ask="begin", scene="three_models", seed=1)["state"]["points"]
            ws.close()
    deadline = time.monotonic() + 10.0
    while any(study.__name__ in _where(thread) for thread in threading.enumerate()):
        assert time.monotonic() < deadline, "a thread still computes"
        time.sleep(0.05)


def _where(thread):
    """The functions that a thread is in."""
    import sys

    frame, names = sys._current_frames().get(thread.ident), []
    while frame is not None:
        names.append(frame.f_code.co_name)
        frame = frame.f_back
    return names


def test_a_visitor_who_leaves_in_the_middle_of_a_fit_leaves_no_thread_behind(monkeypatch):
    _with_study(monkeypatch, _an_hour)
    state = scene("margin").begin().to_json()
    with served(seconds=0.5) as port:
        with talk(port) as ws:
            ws.send(json.dumps({"ask": "draw", "scene": "margin", "state": state}))
            time.sleep(0.2)
        deadline = time.monotonic() + 10.0
        while any("_an_hour" in _where(thread) for thread in threading.enumerate()):
            assert time.monotonic() < deadline, "a thread still computes"
            time.sleep(0.05)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_the_largest_states_of_every_scene_end_in_time(port, name):
    from tests.lab.states import random_state

    with talk(port) as ws:
        for seed in range(6, 90, 14):  # the seeds of as many points as there may be
            state = random_state(scene(name), seed)
            answer = ask(ws, 600, ask="draw", scene=name, state=state.to_json())
            assert "drawing" in answer, answer.get("error")


def test_twenty_visitors_at_once_get_their_own_points_back(port):
    def visit(k, wrong):
        with talk(port) as ws:
            for turn in range(3):
                mine = scene("three_models").begin(100 * k + turn)
                answer = ask(ws, ask="draw", scene="three_models", state=mine.to_json(), seq=turn)
                plane = answer["drawing"]["panels"][0]["layers"][-1]["xy"]
                if plane != [[x, y] for x, y, _ in mine.points] or answer["seq"] != turn:
                    wrong.append(k)

    wrong = []
    threads = [threading.Thread(target=visit, args=(k, wrong)) for k in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert not wrong


# -- a lab that other machines reach

WORD = "a long password"


@pytest.fixture(scope="module")
def open_port():
    with served(password=WORD) as where:
        yield where


def enter(port, word, **headers):
    body = f"password={word.replace(' ', '+')}"
    head = {"Origin": f"http://127.0.0.1:{port}", "Content_Type": "application/x-www-form-urlencoded", **headers}
    return fetch(port, "POST", "/enter", body, **head)


def test_a_lab_with_a_password_asks_for_it(open_port):
    status, headers, body = get(open_port, "/")
    assert status == 200
    assert b'type="password"' in body
    assert b"page.js" not in body
    assert "default-src 'none'" in headers["content-security-policy"]
    assert get(open_port, "/static/lab.css")[0] == 200
    assert get(open_port, "/static/lab.js")[0] == 403
    assert b'type="password"' in get(open_port, f"/?token={TOKEN}")[2]  # no link goes around it
    with pytest.raises(InvalidStatus):
        talk(open_port, cookie="")


def test_the_right_password_opens_the_lab(open_port):
    status, headers, _ = enter(open_port, WORD)
    assert status == 303
    cookie = headers["set-cookie"]
    assert {"httponly", "samesite=strict"} <= set(cookie.lower().split("; "))
    given = cookie.split(";")[0]
    assert get(open_port, "/static/lab.js", Cookie=given)[0] == 200
    with talk(open_port, cookie=given) as ws:
        assert ask(ws, ask="begin", scene="margin", seed=1)["state"]["points"]


def test_a_wrong_password_takes_a_second_and_gives_nothing(open_port):
    began = time.monotonic()
    status, headers, body = enter(open_port, "a short password")
    assert time.monotonic() - began >= 1.0
    assert status == 403
    assert "set-cookie" not in headers
    assert b'type="password"' in body


def test_the_password_comes_from_our_own_page(open_port):
    assert enter(open_port, WORD, Origin="http://evil.example")[0] == 403
    assert enter(open_port, WORD, Origin="null")[0] == 403
    assert enter(open_port, WORD, Host="evil.example", Origin="http://evil.example")[0] == 403
    assert enter(open_port, "x" * 100_000)[0] == 413


def test_without_a_password_there_is_no_way_by_one(port):
    assert enter(port, "")[0] == 403
    assert enter(port, "None")[0] == 403


@pytest.mark.parametrize(
    ("host", "known"),
    [
        ("192.0.2.7:80", True),
        ("[2001:db8::1]:80", True),
        ("192.0.2.7:81", False),
        ("192.0.2.7", False),
        ("evil.example:80", False),
        ("192.0.2.7.evil.example:80", False),
        ("", False),
    ],
)
def test_a_lab_at_every_address_knows_numbers_and_no_names(host, known):
    assert lab_server._is_address(host, 80) is known


@pytest.mark.parametrize("password", [None, "short"])
def test_other_machines_need_a_password_of_some_length(password):
    with pytest.raises(ValueError, match="password"):
        lab_server.serve(host="0.0.0.0", password=password)


def test_the_command_asks_for_the_password_and_says_what_it_means(monkeypatch):
    from typer.testing import CliRunner

    from gapless.cli.app import app

    seen = {}
    monkeypatch.setattr(lab_server, "serve", lambda port, **given: seen.update(given))
    told = CliRunner().invoke(app, ["lab", "--host", "0.0.0.0", "--no-browser"], input=f"{WORD}\n{WORD}\n")
    assert told.exit_code == 0, told.output
    assert "not encrypted" in told.output
    assert "can compute on this machine" in told.output
    assert WORD not in told.output
    assert (seen["host"], seen["password"]) == ("0.0.0.0", WORD)
    refused = CliRunner().invoke(app, ["lab", "--host", "0.0.0.0", "--no-browser"], input="abc\nabc\n")
    assert refused.exit_code == 2
    seen.clear()
    CliRunner().invoke(app, ["lab", "--no-browser"])
    assert seen["password"] is None


def test_only_the_newest_state_waits(port):
    wanted = scene("margin")
    with talk(port) as ws:
        for seq in range(60):
            ws.send(
                json.dumps({"ask": "draw", "scene": "margin", "seq": seq, "state": wanted.begin(seq % 3).to_json()})
            )
        seen = []
        while not seen or seen[-1] != 59:
            answer = json.loads(ws.recv(timeout=60))
            if answer.get("ask") == "draw":
                seen.append(answer["seq"])
    assert seen == sorted(seen)
    assert len(seen) < 60


def test_a_saved_model_loads_and_verifies(port, tmp_path):
    import numpy as np

    import gapless

    state = scene("margin").begin()
    with talk(port) as ws:
        answer = ask(ws, ask="model", scene="margin", state=state.to_json())
    path = tmp_path / answer["file"]
    path.write_bytes(base64.b64decode(answer["bytes"]))
    table = np.array(state.points)
    assert gapless.verify(gapless.load(path), table[:, :2], table[:, 2].astype(int))
