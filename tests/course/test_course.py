"""The course tests, run on the reference."""

import pytest

import bert_lab
from bert_lab.course.test_bert import *  # noqa: F403


@pytest.fixture
def bert():
    """The implementation under test."""
    return bert_lab
