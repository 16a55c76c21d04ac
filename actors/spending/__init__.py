"""Who pays for a request: owners, reports, denials, holds; knows no provider, Discord or Ray."""
