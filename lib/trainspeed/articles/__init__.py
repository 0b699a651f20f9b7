"""What the five articles of 2018 and 2019 measured and claimed, beside what is measured here."""
