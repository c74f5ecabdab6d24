"""Where a corpus's text comes from: each kind of origin read into the same simple shape."""

from tasks.common.settings import ORIGIN, FilesOrigin, HubOrigin, Languages, TreesOrigin, WheelsOrigin
from tasks.origins.archives import read_archives
from tasks.origins.files import read_files
from tasks.origins.hub import read_hub
from tasks.origins.set_sizes import count_known
from tasks.origins.texts import Texts
from tasks.origins.treebank import read_treebank
from tasks.origins.wheels.reader import read_wheels


def read_origin(origin: ORIGIN, languages: Languages, test_set: str, max_characters: int) -> Texts:
    """Open the text of a corpus; fetches what has to be fetched.

    InputError for text that cannot be had, now or while the pairs are consumed; for two sides in each other's place;
    and for a test set that is not the one whose name it bears.
    """
    if isinstance(origin, WheelsOrigin):
        texts = read_wheels(origin, languages, max_characters)
    elif isinstance(origin, FilesOrigin):
        texts = read_files(origin, languages)
    elif isinstance(origin, TreesOrigin):
        texts = read_treebank(origin)
    elif isinstance(origin, HubOrigin):
        texts = read_hub(origin, languages)
    else:
        texts = read_archives(origin, languages, test_set)
    texts.pairs["test"] = count_known(texts.pairs["test"], test_set, languages, "test_set")
    if not isinstance(origin, WheelsOrigin | FilesOrigin | TreesOrigin):
        texts.pairs["valid"] = count_known(texts.pairs["valid"], origin.valid, languages, "origin.valid")
    return texts
