"""gapless lab: the theory in a browser, on this machine."""

from __future__ import annotations

from typing import Annotated

import typer

from gapless.cli import options
from gapless.cli.guard import guarded, stop


@guarded
def lab(
    port: Annotated[int, typer.Option(help="Port on this machine; 0 takes a free one.", min=0, max=65535)] = 0,
    host: Annotated[
        str, typer.Option(help="Address at which other machines reach the lab; a password is asked for.")
    ] = "127.0.0.1",
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open the page at once.")] = True,
    debug: options.Debug = False,
) -> None:
    """Open the lab: draw points, turn knobs, and watch perceptrons, margins, kernels, descent and bounds at work."""
    try:
        from gapless.lab.server import LIMITS, is_this_machine, serve
    except ImportError as error:
        stop(f"the lab needs {error.name or 'starlette'}: pip install 'gapless[lab]'")

    password = None
    if not is_this_machine(host):
        typer.echo(
            f"Other machines will reach the lab at {host}. Whoever knows its password can compute on this machine. What "
            "is sent is not encrypted: others on the network can read the password and the data."
        )
        password = typer.prompt("Password of the lab", hide_input=True, confirmation_prompt=True)
        if len(password) < LIMITS.password_characters:
            stop(f"the password of the lab has at least {LIMITS.password_characters} characters")

    def ready(link: str) -> None:
        typer.echo(link)
        if password is None:
            typer.echo("Open this link on this machine; whoever has it can use the lab. Ctrl-C ends it.")
        else:
            typer.echo("Whoever opens this link is asked for the password. Ctrl-C ends the lab.")
        if browser:
            import webbrowser

            webbrowser.open(link)

    serve(port, host=host, password=password, ready=ready)
