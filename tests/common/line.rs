//! Command lines, as a shell reads them or word by word.

/// A command line, as a shell reads it or word by word.
pub trait Line {
    fn words(&self) -> Vec<String>;
}

impl Line for str {
    fn words(&self) -> Vec<String> {
        shell_words::split(self).unwrap_or_else(|error| panic!("{self}: {error}"))
    }
}

impl Line for String {
    fn words(&self) -> Vec<String> {
        self.as_str().words()
    }
}

impl<S: AsRef<str>> Line for [S] {
    fn words(&self) -> Vec<String> {
        self.iter().map(|word| word.as_ref().to_string()).collect()
    }
}

impl<S: AsRef<str>, const N: usize> Line for [S; N] {
    fn words(&self) -> Vec<String> {
        self[..].words()
    }
}

impl<S: AsRef<str>> Line for Vec<S> {
    fn words(&self) -> Vec<String> {
        self[..].words()
    }
}

/// One after the other.
impl<A: Line, B: Line> Line for (A, B) {
    fn words(&self) -> Vec<String> {
        [self.0.words(), self.1.words()].concat()
    }
}

impl<A: Line, B: Line, C: Line> Line for (A, B, C) {
    fn words(&self) -> Vec<String> {
        [self.0.words(), self.1.words(), self.2.words()].concat()
    }
}

impl<T: Line + ?Sized> Line for &T {
    fn words(&self) -> Vec<String> {
        (**self).words()
    }
}
