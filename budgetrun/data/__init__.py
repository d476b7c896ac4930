"""Data sets: find and verify files, read them, and order the rounds of each repetition."""

from budgetrun.data.cards import Card, card, list_cards
from budgetrun.data.files import fetch, verify
from budgetrun.data.streams import Stream, StreamInfo, open_stream, stream_info

__all__ = ["Card", "Stream", "StreamInfo", "card", "fetch", "list_cards", "open_stream", "stream_info", "verify"]
