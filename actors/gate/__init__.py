"""The gate for addresses that somebody outside supplied: judged first, then asked as judged."""
