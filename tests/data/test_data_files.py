"""Cards, the files that they name, their checksums and downloads, and files as bytes."""

import gzip
import hashlib
import http.server
import threading

import pytest
from faults import message
from made_files import COMPRESS, CONTENT, SHA256, small_card

from budgetrun.base import limits
from budgetrun.base.errors import DataMissingError, InputError
from budgetrun.config.schema import DatasetSpec
from budgetrun.data import card, fetch, files, list_cards, stream_info, verify
from budgetrun.data.content import pieces, read_content

# The search


@pytest.mark.parametrize(
    "name", ["f/small.gz", "small.gz", "f/small", "small", "f/small.bz2", "small.bz2", "f/small.xz", "small.xz"]
)
def test_a_file_is_found_under_any_of_its_names(made, name):
    path = made.data / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(COMPRESS[path.suffix](CONTENT))
    assert fetch(small_card(made), made.data) == [path]


def test_search_order_is_argument_environment_cache(made, monkeypatch, tmp_path):
    small = small_card(made)
    folders = [made.data, tmp_path / "environment", made.cache]
    for folder in folders:
        folder.mkdir(exist_ok=True)
        (folder / "small").write_bytes(CONTENT)
    monkeypatch.setenv("BUDGETRUN_DATA", str(folders[1]))
    for folder in folders:
        assert fetch(small, made.data) == [folder / "small"]
        (folder / "small").unlink()
    message(fetch, small, made.data, kind=DataMissingError)


def test_a_folder_that_is_not_there(made, monkeypatch, tmp_path):
    told = f": no folder {tmp_path / 'gone'}; give the folder that holds the data files"
    assert message(fetch, small_card(made), tmp_path / "gone") == "--data" + told
    monkeypatch.setenv("BUDGETRUN_DATA", str(tmp_path / "gone"))
    assert message(fetch, small_card(made)) == "$BUDGETRUN_DATA" + told


def test_wrong_checksum(made):
    small = small_card(made)
    path = made.data / "small"
    path.write_bytes(CONTENT + b" ")
    found = hashlib.sha256(CONTENT + b" ").hexdigest()
    assert message(fetch, small, made.data) == (
        f"{path}: not the f/small.gz of dataset 'small': the sha256 of its content is {found}, expected {SHA256}; "
        "replace it with the original, or remove it and type 'budgetrun data fetch small'"
    )
    assert verify(small, made.data) == [(small.files["all"][0], path, "wrong checksum")]


def test_verify_tells_each_state_and_downloads_nothing(made):
    small = small_card(made, ["http://127.0.0.1:9/small"])
    file = small.files["all"][0]
    assert verify(small, made.data) == [(file, None, "missing")]
    path = made.data / "small.gz"
    path.write_bytes(gzip.compress(CONTENT)[:-5])
    assert verify(small, made.data) == [(file, path, "unreadable")]
    path.write_bytes(gzip.compress(CONTENT, 1))  # otherwise compressed, the same content
    assert verify(small, made.data) == [(file, path, "ok")]


def missing(made, why, what="f/small.gz", name="small"):
    return (
        f"dataset '{name}': 1 of 1 file is missing, and {why}\n  put {what} at {made.cache / 'f/small.gz'}\n"
        "  or name a folder that has them with --data or $BUDGETRUN_DATA"
    )


def test_missing_without_an_address_says_where_to_put_it(made):
    why = "f/small.gz has no public address; see datasets/small.yaml for how it was made"
    assert message(fetch, small_card(made), kind=DataMissingError) == missing(made, why)


def test_the_cache_is_in_a_checkout_or_the_platforms(monkeypatch):
    assert files.cache_folder().parts[-2:] == ("datasets", "cache")
    monkeypatch.setattr(files, "checkout", lambda: None)
    assert files.cache_folder().name == "budgetrun"


# Downloads


class Handler(http.server.BaseHTTPRequestHandler):
    """Serves ``answers[path]``: (status, bytes, length to announce)."""

    def do_GET(self):
        self.server.asked.append(self.path)
        status, data, length = self.server.answers.get(self.path, (404, b"", 0))
        self.send_response(status)
        self.send_header("Content-Length", str(length))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *args):
        pass


@pytest.fixture
def server():
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.answers, server.asked = {}, []
        server.url = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def answer(data, length=None):
    return (200, data, len(data) if length is None else length)


def kept(made):
    return [path.name for path in made.cache.rglob("*") if path.is_file() or ".partial" in path.name]


def test_a_file_that_takes_too_much_memory_to_unpack_is_not_called_damaged(tmp_path):
    (tmp_path / "small.xz").write_bytes(COMPRESS[".xz"](CONTENT))
    sentence = r"small.xz: unpacking it takes more memory than the limit of 1.0 MB; raise the limit with --memory SIZE"
    with limits.memory(1e6), pytest.raises(InputError, match=sentence):
        list(pieces(tmp_path / "small.xz"))


@pytest.mark.parametrize("suffix", ["", ".gz", ".bz2", ".xz"])
def test_download_keeps_the_file_as_it_is_compressed(made, server, suffix):
    server.answers["/some.name.gz"] = answer(COMPRESS[suffix](CONTENT))
    small = small_card(made, [f"{server.url}/some.name.gz"])
    assert fetch(small) == [made.cache / "f" / f"small{suffix}"]
    assert fetch(small) == [made.cache / "f" / f"small{suffix}"]
    assert server.asked == ["/some.name.gz"]
    assert kept(made) == [f"small{suffix}"]


def test_download_tries_the_next_address(made, server):
    server.answers["/wrong"] = answer(b"not it")
    server.answers["/torn.gz"] = answer(gzip.compress(CONTENT)[:-4])
    server.answers["/right"] = answer(CONTENT)
    names = ["none", "wrong", "torn.gz", "right"]
    assert fetch(small_card(made, [f"{server.url}/{name}" for name in names])) == [made.cache / "f" / "small"]
    assert server.asked == [f"/{name}" for name in names]


@pytest.mark.parametrize("case", ["truncated", "torn", "wrong", "404"])
def test_a_download_that_fails_leaves_nothing_behind(made, server, case):
    stored = gzip.compress(CONTENT)
    url = f"{server.url}/small.gz"
    wrong = hashlib.sha256(b"other").hexdigest()
    answers = {
        "truncated": (answer(stored[:20], len(stored)), f"the download of {url} failed (ChunkedEncodingError)"),
        "torn": (answer(stored[:20]), f"{url} sent a damaged file, which was discarded"),
        "wrong": (answer(b"other"), f"{url} sent another file, which was discarded: sha256 {wrong}, expected {SHA256}"),
        "404": ((404, b"", 0), f"the download of {url} failed (HTTP 404)"),
    }
    server.answers["/small.gz"], reason = answers[case]
    assert message(fetch, small_card(made, [url]), kind=DataMissingError) == missing(made, reason)
    assert kept(made) == []


def test_download_is_tried_again(made, server, monkeypatch):
    import pooch.core

    waits = []
    monkeypatch.setattr(pooch.core.time, "sleep", waits.append)
    monkeypatch.setattr(files, "RETRIES", 2)
    message(fetch, small_card(made, [f"{server.url}/small"]), kind=DataMissingError)
    assert len(server.asked) == 3
    assert len(waits) == 2


def test_without_network_all_files_are_named_and_one_is_tried(made, monkeypatch):
    tried = []

    def refuse(url, folder):
        import requests

        tried.append(url)
        raise requests.exceptions.ConnectionError(url)

    monkeypatch.setattr(files, "_retrieve", refuse)
    fields = small_card(made, ["http://far/small"]).model_dump()
    second = {**fields["files"]["all"][0], "file": "f/second", "urls": ["http://far/second"]}
    made.write({**fields, "name": "two", "files": {"all": [*fields["files"]["all"], second]}})
    assert message(fetch, card("two"), kind=DataMissingError) == (
        "dataset 'two': 2 of 2 files are missing, and the download of http://far/small failed (ConnectionError)\n"
        f"  put f/small.gz at {made.cache / 'f/small.gz'}\n"
        f"  put f/second at {made.cache / 'f/second'}\n"
        "  or name a folder that has them with --data or $BUDGETRUN_DATA"
    )
    assert tried == ["http://far/small"]


# Files whose checksum is not known


def unknown_card(made, **changes):
    fields = small_card(made, ["http://127.0.0.1:9/small"]).model_dump()
    fields["files"]["all"][0] |= {"sha256": None, "sha256_stored": None}
    made.write({**fields, "name": "unknown", **changes})
    return card("unknown")


def test_a_file_without_checksum_is_used_and_told_unverified(made):
    unknown = unknown_card(made)
    path = made.data / "small.gz"
    path.write_bytes(gzip.compress(CONTENT))
    assert fetch(unknown, made.data) == [path]
    assert verify(unknown, made.data) == [(unknown.files["all"][0], path, "unverified")]
    info = stream_info(DatasetSpec(name="unknown"), made.data)
    assert info.files == {"f/small.gz": info.sha256} == {"f/small.gz": SHA256}
    assert info.notes == [f"Unverified: the checksum of f/small.gz is not known; that of the one used is {SHA256}."]
    assert (info.n_examples, info.n_features, info.classes) == (2, 3, [-1, 1])
    path.write_bytes(b"torn")
    assert verify(unknown, made.data) == [(unknown.files["all"][0], path, "unreadable")]


BY_HAND = "f/small.gz (from http://127.0.0.1:9/small)"


def test_a_file_without_checksum_is_never_downloaded(made, monkeypatch):
    monkeypatch.setattr(files, "_retrieve", None)
    spec = DatasetSpec(name=unknown_card(made).name)
    told = missing(made, "files without a known checksum are never downloaded", BY_HAND, "unknown")
    for download in (True, False):
        assert message(stream_info, spec, made.data, download, kind=DataMissingError) == told


@pytest.mark.parametrize(("content", "changes", "told"), [
    (CONTENT + b"1 1:1\n", {}, "3 examples where the card of dataset 'unknown' says 2"),
    (b"1\n1\n", {}, "labels 1:2 where the card of dataset 'unknown' says -1:1 1:1"),
    (b"1\n1\n1 1:1\n", {"labels": {}}, "3 examples where the card of dataset 'unknown' says 2"),
])  # fmt: skip
def test_a_file_without_checksum_is_held_against_the_card(made, content, changes, told):
    unknown_card(made, **changes)
    path = made.data / "small"
    path.write_bytes(content)
    said = f"{path}: {told}; this is another file, or an incomplete one: replace it with the original"
    assert message(stream_info, DatasetSpec(name="unknown", task="multiclass"), made.data) == said


def test_a_card_without_labels_takes_what_is_there(made):
    unknown_card(made, labels={}, n_examples={"all": 3})
    (made.data / "small").write_bytes(b"4 1:2\n-1 3:3\n2\n")
    info = stream_info(DatasetSpec(name="unknown", task="multiclass"), made.data)
    assert (info.n_examples, info.classes, info.n_classes) == (3, [-1, 2, 4], 3)


def test_every_card_of_the_project_is_sound():
    found = {c.name: c for c in list_cards()}
    assert list(found) == sorted(found)
    assert set(found) >= {"mnist", "usps", "census_income", "noisy_gaussians", "a9a", "ijcnn1", "cod_rna", "w8a"}
    assert set(found) >= {"phishing", "susy_30000", "covtype_92962"}
    for c in found.values():
        assert c.notes
        assert c.licence
        for file in c.files_of(tuple(c.files)):
            assert all(url.startswith(("https://", "http://yann.lecun.com")) for url in file.urls)


def test_unknown_card_names_the_nearest():
    tail = "  (budgetrun list datasets; your own file needs 'path')"
    assert message(card, "mnists") == f"unknown dataset 'mnists'; did you mean 'mnist'?{tail}"
    assert message(card, "zzz").startswith("unknown dataset 'zzz'; known: a9a census_income cod_rna ")
    assert message(card, "../datasets/a9a").startswith("unknown dataset '../datasets/a9a'; ")


def test_parts_are_checked():
    a9a = card("a9a")
    assert a9a.chosen_parts(None) == ("train",)
    assert a9a.chosen_parts(["test", "train"]) == ("test", "train")
    told = "dataset 'a9a': parts: unknown part 'tset'; its parts are: train test"
    assert message(a9a.chosen_parts, ["tset"]) == told
    assert message(a9a.chosen_parts, ["tset"], "test") == told.replace("parts: u", "test: u")
    told = "dataset 'a9a': parts: name each part once; its parts are: train test"
    assert message(a9a.chosen_parts, ["test", "test"]) == told


@pytest.mark.parametrize(("change", "told"), [
    ({"n_examples": {"all": 3}}, "the label counts of part all do not add up to its n_examples"),
    ({"n_examples": {}}, "n_examples must name the parts of files, and labels and nnz no others"),
    ({"labels": {}}, "part all has checksums, so labels must name it"),
    ({"default_parts": ["x"]}, "default_parts must be parts of files"),
    ({"surprise": 1}, "surprise: "),
    ({"version": "x"}, "version: "),
])  # fmt: skip
def test_a_faulty_card_names_its_file(made, change, told):
    made.write({**small_card(made).model_dump(), "name": "other", **change})
    assert message(card, "other").startswith(f"{made.cards / 'other.yaml'}: not a dataset card: {told}")


def test_a_card_is_named_after_its_file(made):
    small_card(made)
    (made.cards / "other.yaml").write_text((made.cards / "small.yaml").read_text())
    assert message(card, "other") == f"{made.cards / 'other.yaml'}: a card is named after its file, got name 'small'"


def test_a_card_is_read_strictly(made):
    small_card(made)
    path = made.cards / "twice.yaml"
    path.write_text("name: twice\ntitle: a\ntitle: b\n")
    assert message(card, "twice") == f"{path}:3: title: key given twice, first on line 2"


@pytest.mark.parametrize("suffix", COMPRESS)
def test_an_empty_file_says_so(tmp_path, suffix):
    path = tmp_path / f"s.csv{suffix}"
    path.write_bytes(COMPRESS[suffix](b""))
    assert message(read_content, path) == f"{path}: the file is empty"
