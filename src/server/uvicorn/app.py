# What uvicorn is told to run in place of the app: loads the app, hands it on as it is, and has each
# worker say that it serves or that it cannot.
import os
import sys
import traceback

from uvicorn.importer import import_from_string
from uvicorn.server import Server


def say(text):
    # One write, so that lines of several workers do not mix.
    os.write(2, ("sweetspot: %s\n" % text).encode())


usual_startup = Server.startup


async def startup(server, *arguments, **names):
    await usual_startup(server, *arguments, **names)
    if server.started:
        say("worker %d is ready" % os.getpid())
    else:
        say("failed: the app does not start up")


Server.startup = startup
# As uvicorn does by itself; last the app's own folder, which only `python -m uvicorn` has there.
sys.path.insert(0, "MODULES")
sys.path.append("FOLDER")
try:
    app = import_from_string("ENTRY")
    if IS_FACTORY:
        app = app()
except BaseException:
    # At once and only once: uvicorn would print it again, or a part of it.
    traceback.print_exc()
    sys.stderr.flush()
    say("failed: the app cannot be loaded")
    os._exit(3)
