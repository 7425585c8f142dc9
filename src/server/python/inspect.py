# What the inspections of Python's app servers have in common; a server's own script follows.
import json
import os
import re
import sys
import traceback

# Settings may insist on a port, which every start has; where the environment names none, this one
# stands for it.
ANY_PORT = "50505"
os.environ.setdefault("PORT", ANY_PORT)


def own_addresses(addresses):
    """The addresses that settings name themselves: not those that only follow the port."""
    return [address for address in addresses if not address.endswith(ANY_PORT)]


def ask_apart(answer):
    """What `answer` gives in a process of its own, with nothing printed; None when it raises."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.dup2(nowhere, 2)
        try:
            os.write(writer, json.dumps(answer()).encode())
        except BaseException:
            # The settings as they are today say what is wrong.
            pass
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as stream:
        text = stream.read()
    os.waitpid(child, 0)
    return json.loads(text) if text else None


def variables_in(path):
    """What a file has in quotation marks that sounds like a variable for workers or threads."""
    sounds = r"[\"'](\w*(?:WORKER|THREAD|CONCURRENCY|PROCESS)\w*)[\"']"
    return re.findall(sounds, text_of(path))


def variable_of(numbers, value):
    """The variable that was given this number."""
    return next((name for name, number in numbers.items() if number == value), None)


def text_of(path):
    """The text of a file, empty where it cannot be read."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""


def module_text(entry):
    """The text of the module that an entry of the app's own folder names. Nothing is loaded."""
    return text_of(entry.partition(":")[0].replace(".", "/") + ".py")


def is_django_debugging(entry):
    """Does the text of Django's settings say DEBUG = True?"""
    named = re.search(r"DJANGO_SETTINGS_MODULE[\"']\s*,\s*[\"']([\w.]+)", module_text(entry))
    settings = module_text(named.group(1)) if named else ""
    return bool(re.search(r"^DEBUG\s*=\s*True\b", settings, re.M))


def print_inspection(server, answer):
    """Prints what `answer` gives, or what went wrong in it, as one line of JSON after a mark."""
    try:
        report = answer()
        report["python"] = "Python " + sys.version.split()[0]
    except (Exception, SystemExit) as error:
        frames = [frame for frame in traceback.extract_tb(error.__traceback__)
                  if frame.filename != "<string>"]
        at = "%s:%s" % (frames[-1].filename, frames[-1].lineno) if frames else None
        if isinstance(error, SyntaxError) and error.filename:
            at = "%s:%s" % (error.filename, error.lineno)
        report = {
            "error": "%s: %s" % (type(error).__name__, error),
            "at": at,
            "server_missing": isinstance(error, ImportError)
            and (error.name or "").split(".")[0] == server,
        }
    sys.stdout.flush()
    print("\nsweetspot-inspection " + json.dumps(report), flush=True)

