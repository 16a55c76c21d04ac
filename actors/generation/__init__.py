"""One answer: reading a stream, journalling it, and replaying it from the journal."""
