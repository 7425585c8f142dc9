# Prints what gunicorn's own loader makes of the app's settings, and starts nothing. Arguments: the
# entry, the app's configuration file or an empty word, and flags that are kept.

# Every variable by which these are set by convention, each with a number of its own: a number that
# turns up in the settings shows which variable they follow. Those that the settings name themselves
# are tried too.
WORKERS = {
    "WEB_CONCURRENCY": 31, "GUNICORN_WORKERS": 37, "GUNICORN_PROCESSES": 41, "WORKERS": 43,
    "WEB_WORKERS": 47, "GUNICORN_WORKER_COUNT": 53, "MAX_WORKERS": 59,
}
THREADS = {
    "GUNICORN_THREADS": 61, "THREADS": 67, "WEB_THREADS": 71, "PYTHON_MAX_THREADS": 73,
    "GUNICORN_THREAD_COUNT": 79, "MAX_THREADS": 83,
}


def load_settings():
    from gunicorn.app.wsgiapp import WSGIApplication

    class Loader(WSGIApplication):
        # What goes wrong is ours to print.
        def do_load_config(self):
            self.load_default_config()
            self.load_config()

        def get_config_from_filename(self, filename):
            path = os.path.abspath(filename)
            module = type(sys)("__config__")
            module.__file__ = path
            sys.modules["__config__"] = module
            with open(path, "rb") as file:
                exec(compile(file.read(), filename, "exec"), vars(module))
            found = dict(vars(module))
            # It may be a folder that only production has.
            if not os.path.isdir(found.get("chdir", ".")):
                del found["chdir"]
            return found

    entry, config, *flags = sys.argv[1:]
    sys.argv[1:] = [*(["-c", config] if config else []), *flags, entry]
    return Loader("%(prog)s", prog="gunicorn").cfg


def obeyed(named):
    """`named`: variables beside those by convention."""
    names = sorted(set(named) - set(WORKERS) - set(THREADS))
    others = {name: number for number, name in enumerate(names, 101)}
    workers, threads = {**WORKERS, **others}, {**THREADS, **others}
    os.environ.update({name: str(number) for name, number in {**workers, **threads}.items()})
    settings = load_settings()
    return [variable_of(workers, settings.workers), variable_of(threads, settings.threads)]


def inspect():
    entry, config = sys.argv[1:3]
    # Before gunicorn is loaded, which reads a variable at that moment. One of those that the file
    # names may be a switch that changes everything, so what is found without them comes first.
    usual = ask_apart(lambda: obeyed([])) or [None, None]
    others = ask_apart(lambda: obeyed(variables_in(config))) or [None, None]
    workers, threads = [one or other for one, other in zip(usual, others)]
    settings = load_settings()
    import gunicorn

    worker_class = settings.settings["worker_class"].get()
    if not isinstance(worker_class, str):
        worker_class = worker_class.__module__ + "." + worker_class.__qualname__
    binds = settings.settings["bind"].get()
    logs = [settings.accesslog, settings.errorlog, settings.pidfile]
    return {
        "workers": settings.workers,
        "threads": settings.threads,
        "worker_class": worker_class,
        "preload": settings.preload_app,
        "timeout_s": settings.timeout,
        "max_requests": settings.max_requests,
        "binds": own_addresses(binds) if "bind" in given(settings) else [],
        "files": [path for path in logs if path and path != "-"],
        "is_tls": bool(settings.is_ssl),
        "is_debugging": is_django_debugging(entry),
        "obeys_workers": workers,
        "obeys_threads": threads,
        "gunicorn": gunicorn.__version__,
    }


def given(settings):
    """Names of settings that are not what gunicorn has by default."""
    return {name for name, setting in settings.settings.items() if setting.get() != setting.default}


print_inspection("gunicorn", inspect)
