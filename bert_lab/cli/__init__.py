"""The command `bert-lab`.

Only `bert_lab.__main__` imports it.
"""
