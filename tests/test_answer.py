"""The answer in a reply: found where it is plain, left alone where it is not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from motet.answer import answer, right
from motet.normalise import extract, normalise


@pytest.mark.parametrize(
    ("question", "reply", "expected"),
    [
        ("What is the capital of Spain?", "The capital of Spain is Madrid.", "Madrid"),
        ("What is the capital of Spain?", "Madrid is the capital of Spain.", "Madrid"),
        ("What is the chemical formula of water?", "The chemical formula of water is H2O. It has two gases.", "H2O"),
        ("Who wrote Hamlet?", "Hamlet was written by William Shakespeare.", "William Shakespeare"),
        ("Who wrote Hamlet?", "William Shakespeare wrote Hamlet", "William Shakespeare"),
        ("Who painted the Mona Lisa?", "The Mona Lisa was painted by Leonardo da Vinci.", "Leonardo da Vinci"),
        ("What is a baby cat called?", "A baby cat is called a kitten.", "kitten"),
        ("What is the opposite of cold?", "The opposite of cold is hot.", "hot"),
        ("Which gas do plants take in?", "Plants take in carbon dioxide.", "carbon dioxide"),
        ("Which planet is the largest?", "The largest planet is Jupiter!", "Jupiter"),
        ("How many minutes are in an hour?", "There are 60 minutes in an hour.", "60"),
        ("How much is 3.5 times 2?", "3.5 times 2 is 7", "7"),
        ("Which war ended in 1945?", "The Second World War ended in 1945.", "Second World"),
        (
            "Which planet is the largest?",
            "The largest planet is Jupiter, which is twice as heavy as all others.",
            "Jupiter",
        ),
        ("What do most people speak in Brazil?", "Most people speak Portuguese, with about 90 % of them", "Portuguese"),
        ('What is the opposite of "north"?', 'The opposite of "north" is "south."', "south"),
        ("Where is the Eiffel Tower?", "The Eiffel Tower is in Paris", "Paris"),
        ("How many fish did Ann buy in all?", '{"answer": "Ann bought 13 white fish at the store."}', "13"),
        ("How much more is the house?", '{"answer": "It costs $9,500 more than her budget allows."}', "9500"),
        ("How many years passed?", "Altogether 1,250.5 of them passed quickly before this one came.", "1250.5"),
        ("How far is it?", "The village stands 54 miles east of the river.", "54"),
    ],
)
def test_found_in_a_plain_sentence(question: str, reply: str, expected: str) -> None:
    """A sentence that says one new thing gives that thing."""
    assert normalise(answer(reply, question)) == normalise(expected)


@pytest.mark.parametrize(
    ("question", "reply"),
    [
        ("What is the capital of Spain?", "It is not Madrid."),
        ("What is the capital of Spain?", "The capital isn't Madrid"),
        ("What is the capital of Spain?", "Some say Madrid, others Barcelona, and I can't decide."),
        ("Who wrote Hamlet?", "Hamlet, by some accounts, was written by Francis Bacon."),
        ("Who painted the Mona Lisa?", "It is said to be by Leonardo da Vinci, but others painted it too."),
        ("Is Paris the capital of France?", "Paris is the capital of France."),
        ("How many fish are left?", "Of the 13 fish she bought, 5 are left over."),
        ("How many fish are left?", "Of the 13 fish she bought, five are left over."),
        ("How many fish are left?", "There may be 13 fish or a few less."),
        ("How many fish are left?", "There are certainly more than 13 fish left over."),
        ("How many fish are left?", "There are not 13 fish left over here."),
        ("How many fish are left?", "The number of fish left is 13 + r, with r unknown."),
        ("How many degrees is it in there?", "The gauge on the wall shows \u22125 of them right at this time."),
        ("How many degrees is it in there?", "The gauge on the wall shows minus 5 of them right at this time."),
        ("Which of these is a cause?", "The answer is (A) or (B)."),
        ("How long did it take?", "It took 3-4 of the longest days anybody at all could then remember."),
        ("Which room is it?", "Everybody agreed that room 13 suits them all perfectly well."),
        ("What is the mean of 0 to 2015?", '{"answer": "2015 / 2016"}'),
        ("What is the sum of 2a and -c?", '{"answer": "-3 + c"}'),
        ("What is the product for n = 2?", '{"answer": "2a^2, where the product is that of z"}'),
        ("Why is the sky blue?", "Because air scatters short waves of light much more than long ones do."),
    ],
)
def test_left_alone_in_doubt(question: str, reply: str) -> None:
    """A denial, several new things, nothing new, or a long explanation stays as `extract` found it."""
    assert answer(reply, question) == extract(reply)


def test_without_a_question_it_is_extract() -> None:
    """Nothing is known to take away."""
    assert answer("The capital of Spain is Madrid.") == extract("The capital of Spain is Madrid.")


@given(st.text(max_size=200), st.text(max_size=200))
def test_never_raises_and_never_invents(reply: str, question: str) -> None:
    """Whatever comes in, the answer is a piece of what `extract` found."""
    assert answer(reply, question) in extract(reply)


def test_a_huge_reply_takes_no_time() -> None:
    """A megabyte is looked at no longer than `extract` looks."""
    assert answer("word " * 200_000, "What?")


def test_right_with_the_question_in_view() -> None:
    """A sentence that says the accepted answer counts; one that names it among others or denies it does not."""
    question = "Which ocean lies between Africa and Australia?"
    accepted = ["Indian Ocean", "Indian"]
    assert right("The ocean between Africa and Australia is the Indian Ocean.", accepted, question)
    assert not right("It is the Pacific Ocean.", accepted, question)
    assert not right("It is not the Indian Ocean.", accepted, question)
    assert not right("It is the Indian or the Pacific Ocean.", accepted, question)
