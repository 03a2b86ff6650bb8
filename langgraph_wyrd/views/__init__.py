"""What people see: pure functions from models to text, HTML and SVG. No script, no network."""
