"""Makes an image of one program and the libraries that it needs, without a daemon: a docker archive in
FOLDER.

Usage: image.py FOLDER NAME PROGRAM [ARGUMENT...]

The image runs /bin/PROGRAM with the arguments, as a user that is not root. busybox has its usual
names as links, for shells in tests.
"""

import hashlib
import io
import json
import os
import re
import subprocess
import sys
import tarfile

BUSYBOX = "sh cat cp date echo env expr grep head hostname id ls mkdir nc nproc ps rm sleep tail test wget"


def add_file(archive, name, data, mode=0o644):
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode = len(data), mode
    archive.addfile(entry, io.BytesIO(data))


def libraries(program):
    """The files that the dynamic loader would map for it; none of a static program's."""
    told = subprocess.run(["ldd", program], capture_output=True, text=True, check=False)
    return sorted(set(re.findall(r"(/\S+) \(0x", told.stdout)))


def layer(program):
    """The root folder of the image, as a tar file's bytes; always the same for the same program."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name, mode in [("bin", 0o755), ("etc", 0o755), ("tmp", 0o1777)]:
            entry = tarfile.TarInfo(name)
            entry.type, entry.mode = tarfile.DIRTYPE, mode
            archive.addfile(entry)
        add_file(archive, "etc/passwd", b"nonroot:x:65532:65532::/tmp:/bin/sh\n")
        name = os.path.basename(program)
        with open(program, "rb") as file:
            add_file(archive, f"bin/{name}", file.read(), 0o755)
        for library in libraries(program):
            with open(library, "rb") as file:
                add_file(archive, library.lstrip("/"), file.read(), 0o755)
        for link in BUSYBOX.split() if name == "busybox" else []:
            entry = tarfile.TarInfo(f"bin/{link}")
            entry.type, entry.linkname = tarfile.SYMTYPE, "busybox"
            archive.addfile(entry)
    return buffer.getvalue()


def main():
    folder, name, program, *arguments = sys.argv[1:]
    root = layer(program)
    layer_id = hashlib.sha256(root).hexdigest()
    entry = [f"/bin/{os.path.basename(program)}", *arguments]
    config = {
        "architecture": "amd64" if os.uname().machine == "x86_64" else "arm64",
        "os": "linux",
        "config": {"Entrypoint": entry, "User": "65532:65532", "Env": ["PATH=/bin", "HOME=/tmp"]},
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{layer_id}"]},
    }
    config = json.dumps(config).encode()
    config_name = hashlib.sha256(config).hexdigest() + ".json"
    layers = [f"{layer_id}/layer.tar"]
    manifest = [{"Config": config_name, "RepoTags": [name], "Layers": layers}]
    path = os.path.join(folder, name.replace("/", "_").replace(":", "_") + ".tar")
    with tarfile.open(path + ".new", "w") as archive:
        add_file(archive, config_name, config)
        add_file(archive, layers[0], root)
        add_file(archive, "manifest.json", json.dumps(manifest).encode())
    os.replace(path + ".new", path)


main()
