"""Archives made of a few bytes."""

import io
import tarfile
import zipfile


def pack(members, mode="w:gz"):
    """A tar of plain files; a value that is no bytes is a TarInfo, taken as it is."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode=mode) as packed:
        for name, content in members.items():
            if isinstance(content, bytes):
                info = tarfile.TarInfo(name)
                info.size = len(content)
                packed.addfile(info, io.BytesIO(content))
            else:
                packed.addfile(content)
    return buffer.getvalue()


def pack_zip(members):
    """A zip; names are strings or ZipInfo."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, content in members.items():
            packed.writestr(name, content)
    return buffer.getvalue()
