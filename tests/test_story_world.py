"""The story world: stories and labelled rows from a seed, correct in their language, and disjoint held-out parts."""

import itertools
import random
import re
from collections import Counter
from functools import cache

import pytest
from support.errors import raises_error

from bertlab.config.errors import DataError
from bertlab.text.pretraining.sentences import split_sentences
from bertlab.text.story_world.lexicon import load_lexicon, story_languages
from bertlab.text.story_world.plots import PLOTS
from bertlab.text.story_world.realisation import is_held_out
from bertlab.text.story_world.rows import ROW_TASKS, make_rows
from bertlab.text.story_world.simulation import Person, Simulation, Thing
from bertlab.text.story_world.wordings import FIRST_SYLLABLE, NUM_FINALS, choose_particle, parse_wording
from bertlab.text.story_world.world import Story, StoryWorld

LANGUAGES = ["en", "ko"]
PARTICLES = re.compile(
    "(에서는|에게서|에게는|이라는|으로|에서|에게|까지|이었다|였다|은|는|이|가|을|를|의|에|로|과|와|도|만|인)$"
)


@cache
def stories(language: str, count: int = 2000, held_out: bool = False) -> list[Story]:
    return list(StoryWorld(language, seed=1).documents(count, held_out))


def test_english_and_korean_have_stories():
    assert set(LANGUAGES) <= set(story_languages())
    with raises_error(DataError, "story-language-unknown"):
        next(StoryWorld("xx").documents(1))


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_seed_gives_the_same_stories(language):
    texts = [story.text for story in StoryWorld(language, 3).documents(20)]
    assert texts == [story.text for story in StoryWorld(language, 3).documents(20)]
    assert texts[5:9] == [story.text for story in StoryWorld(language, 3).documents(4, start=5)]
    assert texts != [story.text for story in StoryWorld(language, 4).documents(20)]


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_story_has_a_few_paragraphs_of_whole_sentences(language):
    for story in stories(language)[:300]:
        assert 6 <= len(story.sentences) <= 25
        assert 2 <= len(story.paragraph_sizes) <= 4
        assert [sentence.text for sentence in story.sentences] == split_sentences(story.text)
        assert all(
            story.text[start:].startswith(sentence.text)
            for start, sentence in zip(story.starts, story.sentences, strict=True)
        )
        assert not re.search(r"[{}|~]|  | [.,]|\.\.", story.text)


def count_words(language: str) -> Counter:
    """Counts the words of the stories; for Korean without particles."""
    counts: Counter = Counter()
    for story in stories(language):
        counts.update(re.findall(r"[^\W\d_]+", story.text.lower()))
    if language != "ko":
        return counts
    stems: Counter = Counter()
    for word, count in counts.items():
        stem = PARTICLES.sub("", word)
        stems[stem if stem in counts or len(stem) > 1 else word] += count
    return stems


@pytest.mark.parametrize("language", LANGUAGES)
def test_at_least_3000_different_words_occur(language):
    assert len(count_words(language)) >= 3000


@pytest.mark.parametrize("language", LANGUAGES)
def test_held_out_stories_share_no_sentence_with_training(language):
    training = {sentence.text for story in stories(language) for sentence in story.sentences}
    other = {sentence.text for story in stories(language, 700, True) for sentence in story.sentences}
    assert len(other) > 5000
    assert not training & other
    assert all(map(is_held_out, other))
    assert not any(map(is_held_out, training))


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_plot_and_every_wording_is_used(language):
    used = {sentence.event.kind for story in stories(language) for sentence in story.sentences}
    assert used == set(load_lexicon(language).wordings)
    assert {story.plot for story in stories(language)} == {plot.__name__ for plot in PLOTS}


def test_the_languages_have_the_same_events_and_questions():
    english, korean = map(load_lexicon, LANGUAGES)
    assert english.wordings.keys() == korean.wordings.keys()
    for part in ("answerable", "unanswerable"):
        assert english.questions[part].keys() == korean.questions[part].keys()
        assert english.questions[part].keys() <= english.wordings.keys()


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_list_of_words_is_long_enough_and_without_repetitions(language):
    for theme in load_lexicon(language).themes:
        for field in ("places", "people", "things", "goods", "spots", "tasks", "scenes"):
            words = [word.base for word in getattr(theme, field)]
            assert len(words) == len(set(words)) >= 5, (theme.name, field)


def test_korean_particles_follow_the_last_consonant():
    """Of the whole vocabulary: a particle after a name, a place, an object."""
    assert choose_particle("산", ("은", "는")) == "은"
    assert choose_particle("바다", ("은", "는")) == "는"
    assert choose_particle("교실", ("으로", "로", "로")) == "로"
    assert choose_particle("교실", ("이나", "나")) == "이나"
    assert choose_particle("산", ("으로", "로", "로")) == "으로"
    pairs = {"은": True, "는": False, "을": True, "를": False, "과": True, "와": False}
    names = "|".join(itertools.chain.from_iterable(load_lexicon("ko").names.values()))
    pattern = re.compile(rf"\b({names})(은|는|을|를|과|와)\b")
    checked = set()
    for story in stories("ko")[:1000]:
        for sentence in story.sentences:
            for name, particle in pattern.findall(sentence.text):
                assert bool((ord(name[-1]) - FIRST_SYLLABLE) % NUM_FINALS) == pairs[particle], sentence.text
                checked.add(name)
            for mention in sentence.mentions:
                rest = sentence.text[mention.end :]
                if (
                    mention.role not in ("t", "m")
                    and mention.kind == "phrase"
                    and (particle := re.match(r"(은|는|을|를|과|와) ", rest))
                ):
                    word = sentence.text[mention.end - 1]
                    assert bool((ord(word) - FIRST_SYLLABLE) % NUM_FINALS) == pairs[particle[1]], sentence.text
    assert len(checked) > 50


def test_korean_wordings_choose_every_particle():
    """After a slot stands a pair of particles, or one that does not depend on the last letter."""
    fixed = ("의", "에", "도", "뿐", "보다", "까지", "기", "고", "지", "다", "던", "는 ", "쯤", "마다", "로", "인")
    lexicon = load_lexicon("ko")
    texts = [text for wordings in lexicon.wordings.values() for text in wordings]
    for text in texts:
        for match in re.finditer(r"\{[^|}]*\}(\w+)", text):
            assert match[1].startswith(fixed) or match[1] in ("는지", "는", "지만", "나"), text


def test_english_articles_fit_the_next_word():
    vowel_sounds = re.compile(r"(?i)(?!u[ns]i|use|eu|one\b)[aeiou]|hour|honest|heir")
    seen = set()
    for story in stories("en")[:1000]:
        for article, word in re.findall(r"\b(an?|An?) (\w[\w-]*)", story.text):
            assert (article.lower() == "an") == bool(vowel_sounds.match(word)), (article, word)
            seen.add(word)
    assert len(seen) > 50


def test_english_plurals_and_past_tenses():
    lexicon = load_lexicon("en")
    words = {word.base: word for theme in lexicon.themes for word in (*theme.goods, *theme.tasks)}
    plurals = {
        "loaf": "loaves", "radish": "radishes", "daisy": "daisies", "bell": "bells", "rubber duck": "rubber ducks",
    }  # fmt: skip
    pasts = {
        "whip the cream": "whipped the cream", "carry the luggage": "carried the luggage", "fry the potatoes":
        "fried the potatoes", "play the king": "played the king", "de-ice the wings": "de-iced the wings",
    }  # fmt: skip
    assert {word: lexicon.inflect(words[word], "plural") for word in plurals} == plurals
    assert {word: lexicon.inflect(words[word], "past") for word in pasts} == pasts


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_pronoun_has_one_possible_referent(language):
    pronouns = 0
    for story in stories(language)[:500]:
        for before, sentence in zip((None, *story.sentences), story.sentences, strict=False):
            near = [*(before.mentions if before else ()), *sentence.mentions]
            for mention in sentence.mentions:
                if mention.kind != "pronoun" or mention.case == "own":
                    continue
                pronouns += 1
                same = {
                    m.referent for m in near
                    if isinstance(m.referent, Person) and m.referent.gender in (mention.referent.gender, "")
                }  # fmt: skip
                here = {m.referent for m in sentence.mentions if m.start < mention.start and m.referent in same}
                assert same == {mention.referent} or here == {mention.referent}, sentence.text
    assert pronouns > 300


def test_events_keep_the_world_consistent():
    """An object that is found is the one that was lost, and money is neither made nor lost."""
    finds = 0
    for story in stories("en")[:1500]:
        for event in story.events:
            if event.kind == "find":
                assert event.roles["x"] is story.world.thing
                assert any(e.kind == "lose" and e.roles["x"] is event.roles["x"] for e in story.events)
                finds += 1
            assert event.cause is None or event.cause in story.events
        money = {e.kind: e.roles for e in story.events if e.kind in ("purse", "pay", "buy", "lend", "left")}
        paid = money.get("pay") or money.get("buy")
        if paid and "left" in money and "purse" in money:
            lent = money["lend"]["j"] if "lend" in money else 0
            assert money["purse"]["n"] + lent - paid["k"] == money["left"]["j"]
    assert finds > 30


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_people_of_a_setting_are_the_same_in_all_stories(language):
    people: dict[tuple[str, str], set[str]] = {}
    for story in stories(language)[:1000]:
        world = story.world
        assert world.hero.name != world.friend.name
        for person in (world.hero, world.friend):
            people.setdefault((world.theme.name, person.name), set()).add(person.job.base)
    assert all(len(jobs) == 1 for jobs in people.values())
    assert len({name for _, name in people}) > 40


def test_an_impossible_event_is_rejected():
    world = Simulation(load_lexicon("en"), random.Random(0))
    thing = Thing(world.theme.things[0], world.lexicon.words["adjectives"][0])
    with pytest.raises(AssertionError):
        world.lose(world.hero, thing)


def test_wordings_are_parsed():
    wording = parse_wording("~{a|은/는} {place|으로/로/로} 갔다.")
    assert not wording.takes_connective
    assert [slot.particles for slot in wording.slots] == [("은", "는"), ("으로", "로", "로")]


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("task", ROW_TASKS)
def test_rows_are_labelled_by_construction(task, language):
    rows = list(make_rows(task, language, 0, 60))
    assert rows == list(make_rows(task, language, 0, 60))
    assert rows[0] != next(make_rows(task, language, 0, 1, held_out=True))
    for row in rows:
        if task == "questions":
            answers = row["answers"]
            assert len(answers["text"]) == len(answers["answer_start"]) <= 1
            for text, start in zip(answers["text"], answers["answer_start"], strict=True):
                assert row["context"][start:].startswith(text)
                assert text
            assert row["question"].endswith("?")
        elif task == "entities":
            assert len(row["tokens"]) == len(row["tags"])
            for before, tag in itertools.pairwise(["O", *row["tags"]]):
                assert not tag.startswith("I-") or before[2:] == tag[2:]
        elif "choices" in row:
            assert 0 <= row["label"] < len(set(row["choices"])) == len(row["choices"])
    labels = Counter(str(row.get("label", bool(row.get("answers", {}).get("text")))) for row in rows)
    if task != "entities":
        assert len(labels) > 1
        assert max(labels.values()) < 0.8 * len(rows)


def test_an_unknown_task_is_rejected():
    with raises_error(DataError, "story-task-unknown"):
        next(make_rows("riddles", "en", 0, 1))
