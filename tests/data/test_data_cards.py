"""Cards: what they may say, and what is told of faulty ones."""

import pytest
from faults import message
from made_files import small_card

from budgetrun.data import card, list_cards


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


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"n_examples": {"all": 3}}, "the label counts of part all do not add up to its n_examples"),
        ({"n_examples": {}}, "n_examples must name the parts of files, and labels and nnz no others"),
        ({"labels": {}}, "part all has checksums, so labels must name it"),
        ({"default_parts": ["x"]}, "default_parts must be parts of files"),
        ({"surprise": 1}, "surprise: "),
        ({"version": "x"}, "version: "),
    ],
)
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
