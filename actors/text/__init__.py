"""The pure text path: provider text in, finished message bodies out."""
