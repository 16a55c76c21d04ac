"""Everything that writes to Discord; the one REST client lives here and never leaves."""
