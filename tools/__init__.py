"""What makes the documentation and shows that it is true; none of it is part of the package."""
