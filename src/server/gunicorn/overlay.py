# Given to gunicorn in place of the app's own configuration file: this first, then what a measurement
# needs to differ, and nothing else.
import os
import socket
import sys
import types

from gunicorn.config import KNOWN_SETTINGS, Config

SWEETSPOT_OWN = OWN_FILE
SWEETSPOT_PORT = OWN_PORT


def sweetspot_say(text):
    # One write, so that lines of several workers do not mix.
    os.write(2, ("sweetspot: %s\n" % text).encode())


def sweetspot_load(path):
    module = types.ModuleType("__config__")
    module.__file__ = path
    sys.modules["__config__"] = module
    with open(path, "rb") as file:
        exec(compile(file.read(), path, "exec"), vars(module))
    names = {setting.name for setting in KNOWN_SETTINGS}
    return {name: value for name, value in vars(module).items() if name in names}


# Beginning with what is usual for the kind of app.
globals().update(SWEETSPOT_USUAL)
if SWEETSPOT_OWN is not None:
    globals().update(sweetspot_load(SWEETSPOT_OWN))

# What is tried.
SWEETSPOT_KNOBS = {}
globals().update(SWEETSPOT_KNOBS)

# What differs, wherever it was set (this file's place, GUNICORN_CMD_ARGS, the command line): it stays
# in the foreground, speaks plain HTTP to us alone, and writes nothing outside of the scratch folder.
# An access log is still made, and goes nowhere.
SWEETSPOT_CHANGES = {
    "daemon": lambda _: False,
    "reload": lambda _: False,
    "spew": lambda _: False,
    "pidfile": lambda _: None,
    "errorlog": lambda _: "-",
    "accesslog": lambda path: path and os.devnull,
    "logconfig": lambda _: None,
    "logconfig_dict": lambda _: {},
    "syslog": lambda _: False,
    "statsd_host": lambda _: None,
    "certfile": lambda _: None,
    "keyfile": lambda _: None,
    "reuse_port": lambda _: False,
    "proxy_protocol": lambda _: False,
    # A folder that only production has.
    "chdir": lambda path: path if os.path.isdir(path) else os.getcwd(),
}
for sweetspot_name in SWEETSPOT_KNOBS:
    SWEETSPOT_CHANGES[sweetspot_name] = lambda _, name=sweetspot_name: SWEETSPOT_KNOBS[name]
if os.geteuid() != 0:
    # Only root may become somebody else.
    SWEETSPOT_CHANGES.update(user=lambda _: os.geteuid(), group=lambda _: os.getegid())
sweetspot_set = Config.set


def sweetspot_set_changed(config, name, value):
    change = SWEETSPOT_CHANGES.get(name)
    sweetspot_set(config, name, change(value) if change else value)


Config.set = sweetspot_set_changed

# Hooks of the app's own come first.
sweetspot_own_init = globals().get("post_worker_init")
sweetspot_own_exit = globals().get("child_exit")


def sweetspot_say_when_started(worker):
    # uvicorn's workers start the app up after this, each in an event loop of its own.
    from uvicorn.server import Server

    usual_startup = Server.startup

    async def startup(server, *arguments, **names):
        await usual_startup(server, *arguments, **names)
        if server.started:
            sweetspot_say("worker %d is ready" % worker.pid)

    Server.startup = startup


def post_worker_init(worker):
    if sweetspot_own_init is not None:
        sweetspot_own_init(worker)
    if any(kind.__name__ == "UvicornWorker" for kind in type(worker).__mro__):
        sweetspot_say_when_started(worker)
    else:
        sweetspot_say("worker %d is ready" % worker.pid)


def child_exit(server, worker):
    if sweetspot_own_exit is not None:
        sweetspot_own_exit(server, worker)
    sweetspot_say("failed: worker %d has ended" % worker.pid)


# gunicorn would try for five seconds to get a port that is taken.
if SWEETSPOT_PORT is not None:
    with socket.socket() as sweetspot_probe:
        sweetspot_probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sweetspot_probe.bind(("127.0.0.1", SWEETSPOT_PORT))
