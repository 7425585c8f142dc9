# Prints how many workers uvicorn would start here, and starts nothing.


def inspect():
    import uvicorn

    # Its options can be set by variables with this prefix, which come before the other one.
    own, common = os.environ.get("UVICORN_WORKERS"), os.environ.get("WEB_CONCURRENCY")
    return {
        "workers": int(own or common or 1),
        "obeys": "UVICORN_WORKERS" if own else "WEB_CONCURRENCY",
        "is_debugging": is_django_debugging(sys.argv[1]),
        "uvicorn": uvicorn.__version__,
    }


print_inspection("uvicorn", inspect)
