"""From a stored result to what people read: HTML, Markdown, JSON. Reads the store only, never live objects."""
