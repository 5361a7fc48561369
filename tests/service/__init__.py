"""What runs in the background of `serve`."""
