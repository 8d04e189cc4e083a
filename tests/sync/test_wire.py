"""A hand-off over each transport git has, against real servers on loopback."""

from __future__ import annotations

import os
import shlex
import shutil
from typing import TYPE_CHECKING

import pytest

from servers import git_daemon, http_server, make_certificate, ssh_server
from world import FILE, Machine, World

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from servers import HttpServer, SshServer

T1 = "2026-09-14T09:00:00Z"
NAME, PASSWORD = "carrier", "open-sesame-7731"


@pytest.fixture
def http(world: World) -> Iterator[HttpServer]:
    with http_server(world.folder, world.environment) as server:
        yield server


@pytest.fixture
def ssh(world: World, tmp_path: Path) -> Iterator[SshServer]:
    with ssh_server(tmp_path / "sshd", world.environment) as server:
        yield server


def move_to(url: str, *machines: Machine) -> None:
    for machine in machines:
        machine.git("remote", "set-url", "origin", url)


def hand_off(a: Machine, b: Machine) -> None:
    """What A records arrives at B byte for byte."""
    a.seen("IC_1", "IC_2")
    a.control("start", T1)
    sent = a.sync()
    assert (sent["outcome"], sent["verified"]) == ("handed-off", True)
    assert b.sync()["outcome"] == "received"
    assert a.bytes() == b.bytes() is not None


def hand_off_and_back(world: World, a: Machine, b: Machine) -> None:
    """The same, and what B adds arrives at A; the hub holds what both have."""
    hand_off(a, b)
    b.seen("IC_3")
    b.sync()
    a.sync()
    assert a.seen_ids() == ["IC_1", "IC_2", "IC_3"]
    assert a.bytes() == b.bytes() == blob(world)
    assert a.git("rev-parse", "main") == b.git("rev-parse", "main") == world.tip()
    assert a.sync()["outcome"] == "up-to-date"


def blob(world: World) -> bytes:
    return f"{world.git('cat-file', 'blob', f'main:.the-loop/portable/{FILE}')}\n".encode()


# --- ssh ----------------------------------------------------------------------------------


@pytest.mark.parametrize("told_by", ["core.sshCommand", "GIT_SSH_COMMAND", "GIT_SSH", "ssh"])
def test_over_ssh(
    world: World,
    pair: tuple[Machine, Machine],
    ssh: SshServer,
    told_by: str,
    tmp_path: Path,
) -> None:
    """However git is told which ssh to run: by config, environment, a program, or not at all."""
    a, b = pair
    move_to(f"{ssh.address}{world.hub}", a, b)
    if told_by == "core.sshCommand":
        for machine in pair:
            machine.git("config", "core.sshCommand", ssh.command)
    elif told_by == "GIT_SSH_COMMAND":
        world.environment["GIT_SSH_COMMAND"] = ssh.command
    else:
        program = tmp_path / "programs" / "ssh"
        program.parent.mkdir()
        real = shutil.which("ssh") or "ssh"
        program.write_text(f'#!/bin/sh\nexec {shlex.join([real, *ssh.options])} "$@"\n')
        program.chmod(0o755)
        if told_by == "GIT_SSH":
            world.environment["GIT_SSH"] = str(program)
        else:
            world.environment["PATH"] = f"{program.parent}{os.pathsep}{os.environ['PATH']}"
    hand_off(a, b)


def test_a_clone_over_ssh_is_set_up_and_handed_off(world: World, ssh: SshServer) -> None:
    world.environment["GIT_SSH_COMMAND"] = ssh.command
    a, b = (world.machine(name, url=f"{ssh.address}{world.hub}") for name in "ab")
    hand_off_and_back(world, a, b)


# --- http ---------------------------------------------------------------------------------


def remember(machine: Machine, password: str) -> None:
    """Give a clone a credential helper that knows one password."""
    script = f"!f() {{ test $1 = get && echo username={NAME} && echo password={password}; }}; f"
    machine.git("config", "credential.helper", script)


def test_over_http_with_a_credential_helper(
    world: World, pair: tuple[Machine, Machine], http: HttpServer
) -> None:
    http.users[NAME] = PASSWORD
    move_to(f"{http.address}/hub.git", *pair)
    for machine in pair:
        remember(machine, PASSWORD)
    hand_off_and_back(world, *pair)
    assert any("service=git-receive-pack" in request for request in http.requests)


def test_over_http_with_credentials_in_a_store(
    pair: tuple[Machine, Machine], http: HttpServer, tmp_path: Path
) -> None:
    """A helper kept in the person's own configuration, and an address that names the user."""
    http.users[NAME] = PASSWORD
    store = tmp_path / "home" / "credentials"
    store.write_text(f"http://{NAME}:{PASSWORD}@127.0.0.1:{http.port}\n")
    pair[0].git("config", "--global", "credential.helper", f"store --file={store}")
    move_to(f"http://{NAME}@127.0.0.1:{http.port}/hub.git", *pair)
    hand_off(*pair)


def test_over_http_with_a_program_that_gives_the_password(
    pair: tuple[Machine, Machine], http: HttpServer, tmp_path: Path
) -> None:
    """GIT_ASKPASS, as build servers and editors set it."""
    http.users[NAME] = PASSWORD
    program = tmp_path / "askpass"
    program.write_text(f"#!/bin/sh\ncase $1 in User*) echo {NAME};; *) echo {PASSWORD};; esac\n")
    program.chmod(0o755)
    for machine in pair:
        machine.environment = {**machine.environment, "GIT_ASKPASS": str(program)}
    move_to(f"{http.address}/hub.git", *pair)
    hand_off(*pair)


def test_fetched_over_http_and_pushed_elsewhere(
    world: World, pair: tuple[Machine, Machine], http: HttpServer
) -> None:
    """remote.origin.pushurl: reading is open to all, writing has an address of its own."""
    move_to(f"{http.address}/hub.git", *pair)
    for machine in pair:
        machine.git("remote", "set-url", "--push", "origin", world.hub)
    hand_off(*pair)
    assert not any("receive-pack" in request for request in http.requests)


def test_over_https_with_an_authority_of_ones_own(
    world: World, pair: tuple[Machine, Machine], tmp_path: Path
) -> None:
    certificate = make_certificate(tmp_path / "server.pem")
    with http_server(world.folder, world.environment, certificate=certificate) as server:
        move_to(f"{server.address}/hub.git", *pair)
        pair[0].git("config", "--global", "http.sslCAInfo", certificate)
        hand_off(*pair)


def test_over_http_in_chunks(pair: tuple[Machine, Machine], http: HttpServer) -> None:
    """A push larger than http.postBuffer goes out in chunks."""
    a, b = pair
    move_to(f"{http.address}/hub.git", a, b)
    a.git("config", "http.postBuffer", "65536")  # the least git takes
    a.seen(*(f"IC_{number * 7919 % 1_000_003}" for number in range(40_000)))
    assert a.sync()["verified"] is True
    b.sync()
    assert a.bytes() == b.bytes() is not None
    assert http.chunked


def test_an_address_rewritten_by_the_persons_configuration(
    pair: tuple[Machine, Machine], http: HttpServer
) -> None:
    move_to("hub:hub.git", *pair)
    pair[0].git("config", "--global", f"url.{http.address}/.insteadOf", "hub:")
    hand_off(*pair)


# --- git daemon ----------------------------------------------------------------------------


def test_over_git_daemon(world: World, pair: tuple[Machine, Machine]) -> None:
    with git_daemon(world.folder, world.environment) as address:
        move_to(f"{address}/hub.git", *pair)
        hand_off_and_back(world, *pair)


# --- the same disk ---------------------------------------------------------------------------


def test_over_a_file_address(world: World, pair: tuple[Machine, Machine]) -> None:
    move_to(f"file://{world.hub}", *pair)
    hand_off(*pair)


def test_a_strict_hub_takes_every_hand_off(world: World, pair: tuple[Machine, Machine]) -> None:
    """A hand-off only ever moves a branch forward, with objects git finds sound."""
    for setting in ("denyNonFastForwards", "denyDeletes", "fsckObjects"):
        world.git("config", f"receive.{setting}", "true")
    hand_off_and_back(world, *pair)
