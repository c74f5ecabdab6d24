import tarfile
import zipfile

import pytest

from tasks.origins.unpacking import NotWhole, unpack, unpack_folder
from tests.packing import pack, pack_zip
from transformer.io.errors import InputError

TREES = {
    "project-1.0/trees/penn/a.tree": b"(TOP (NN tea))\n",
    "project-1.0/trees/penn/more/b.tree": b"(TOP (NN cake))\n",
    "project-1.0/trees/penn.txt": b"not in there\n",
    "project-1.0/README": b"a project\n",
}


def link(kind):
    info = tarfile.TarInfo("training/a.en")
    info.type, info.linkname = kind, "/etc/passwd"
    return info


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.DIRTYPE])
def test_only_plain_files_are_unpacked(tmp_path, kind):
    path = tmp_path / "a.tgz"
    path.write_bytes(pack({"link": link(kind)}))
    with pytest.raises(InputError, match=r"training/a\.en is no plain file"):
        unpack(path, ["training/a.en"], tmp_path / "out", to_the_end=False)
    assert not list(tmp_path.glob("out/**/a.en"))


def test_no_path_in_an_archive_is_followed(tmp_path):
    path = tmp_path / "deep" / "a.tgz"
    path.parent.mkdir()
    path.write_bytes(pack({"../evil": b"x", f"{tmp_path}/evil": b"x", "./training/a.en": b"one\n"}))
    assert unpack(path, ["training/a.en"], tmp_path / "deep" / "out", to_the_end=True)[0].read_bytes() == b"one\n"
    assert not list(tmp_path.rglob("evil"))


def test_a_bomb_is_not_unpacked(tmp_path):
    path = tmp_path / "a.tgz"
    path.write_bytes(pack({"training/a.en": bytes(5_000_000)}))
    with pytest.raises(InputError, match="unpacks to more than 50 times its size"):
        unpack(path, ["training/a.en"], tmp_path / "out", to_the_end=False)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("packed", [pack, lambda members: pack(members, "w"), pack_zip], ids=["tgz", "tar", "zip"])
def test_of_a_folder_all_files_are_unpacked_without_the_folders_around_it(tmp_path, packed):
    path = tmp_path / "archive"
    path.write_bytes(packed(TREES))
    assert unpack_folder(path, "trees/penn", tmp_path / "out") == tmp_path / "out/trees/penn"
    found = {str(file.relative_to(tmp_path / "out")): file.read_bytes() for file in (tmp_path / "out").rglob("*.*")}
    assert found == {"trees/penn/a.tree": b"(TOP (NN tea))\n", "trees/penn/more/b.tree": b"(TOP (NN cake))\n"}
    with pytest.raises(NotWhole, match="archive: has no files in a folder trees/treebank"):
        unpack_folder(path, "trees/treebank", tmp_path / "out")


@pytest.mark.parametrize("packed", [pack, pack_zip])
def test_nothing_is_written_outside_of_the_folder(tmp_path, packed):
    evil = dict.fromkeys(["trees/../../evil", "trees//evil", "trees/./evil", f"trees/{tmp_path}/evil", "../evil"], b"x")
    path = tmp_path / "deep" / "archive"
    path.parent.mkdir()
    path.write_bytes(packed({**evil, "../trees/good": b"y"}))
    folder = unpack_folder(path, "trees", tmp_path / "deep" / "out")
    assert [file.name for file in folder.rglob("*")] == ["good"]
    assert not list(tmp_path.rglob("evil"))


def test_links_in_a_folder_are_passed_over(tmp_path):
    path = tmp_path / "a.tgz"
    entry = link(tarfile.SYMTYPE)
    path.write_bytes(pack({"training/b.en": b"one\n", "link": entry}))
    assert [file.name for file in unpack_folder(path, "training", tmp_path / "out").iterdir()] == ["b.en"]
    entry = zipfile.ZipInfo("training/a.en")
    entry.external_attr = 0o120777 << 16
    path.write_bytes(pack_zip({entry: b"/etc/passwd", "training/b.en": b"two\n"}))
    folder = unpack_folder(path, "training", tmp_path / "out")
    assert {file.name: file.read_bytes() for file in folder.iterdir()} == {"b.en": b"two\n"}
    with pytest.raises(InputError, match=r"training/a\.en is no plain file"):
        unpack(path, ["training/a.en"], tmp_path / "other", to_the_end=False)


def _damaged(content):
    """The same with another byte in the middle of the first file's content."""
    return content[:50] + bytes([content[50] ^ 255]) + content[51:]


def test_an_archive_packed_otherwise_is_not_called_damaged(tmp_path):
    path = tmp_path / "archive"
    path.write_bytes(pack(TREES, "w:xz"))
    with pytest.raises(InputError, match="archive: packed with xz, and only"):
        unpack_folder(path, "trees/penn", tmp_path / "out")


@pytest.mark.fault("F08")
@pytest.mark.parametrize(
    "content",
    [pack(TREES)[:-20], pack(TREES)[:-8] + bytes(8), pack_zip(TREES)[:-40], _damaged(pack_zip(TREES))],
    ids=["cut off", "another sum", "a zip cut off", "a damaged zip"],
)
def test_of_a_damaged_archive_nothing_is_kept(tmp_path, content):
    path = tmp_path / "archive"
    path.write_bytes(content)
    with pytest.raises(NotWhole, match="archive: damaged: "):
        unpack_folder(path, "trees/penn", tmp_path / "out")
    assert not [file for file in (tmp_path / "out").rglob("*") if file.is_file()]


def test_a_zip_that_says_less_than_it_holds_is_no_way_around_the_bound(tmp_path):
    bomb = pack_zip({"trees/a": bytes(5_000_000)})
    path = tmp_path / "a.zip"
    path.write_bytes(bomb)
    with pytest.raises(InputError, match="unpacks to more than 50 times its size"):
        unpack_folder(path, "trees", tmp_path / "out")
    path.write_bytes(bomb.replace((5_000_000).to_bytes(4, "little"), (1000).to_bytes(4, "little")))
    with pytest.raises(NotWhole, match="damaged: Bad CRC"):
        unpack_folder(path, "trees", tmp_path / "out")
    assert not [file for file in (tmp_path / "out").rglob("*") if file.is_file()]
