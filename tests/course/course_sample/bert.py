"""The reference under the name of a learner's file: what the tests beside it are run on by hand."""
