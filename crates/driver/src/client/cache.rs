//! What a browser has of a site's files: all of them from an earlier visit, or those that this visit fetched.

use std::collections::HashSet;

use super::dealt::Dealt;

/// One user's files.
#[derive(Debug, Default)]
pub struct Cache {
    /// Caches begun before this one.
    begun: u64,
    is_warm: bool,
    /// Whether files are fetched once: they are where visits may be warm and this one is not.
    keeps_files: bool,
    /// Files fetched by this visit, by their numbers.
    files: HashSet<usize>,
    /// Pictures that pages named, by their paths.
    images: HashSet<Box<str>>,
}

impl Cache {
    /// A new visit: its browser has all files, with a chance of `warm`, and asks whether they have changed; or none.
    pub fn renew(&mut self, dealt: &Dealt, warm: Option<f64>) {
        self.files.clear();
        self.images.clear();
        self.is_warm = warm.is_some_and(|share| dealt.is_warm(self.begun, share));
        self.keeps_files = warm.is_some() && !self.is_warm;
        self.begun += 1;
    }

    /// Whether all files are there from an earlier visit.
    pub fn is_warm(&self) -> bool {
        self.is_warm
    }

    /// Whether a file is there and is not asked for any more.
    pub fn has(&self, file: usize) -> bool {
        self.keeps_files && self.files.contains(&file)
    }

    /// Whether a picture is there.
    pub fn has_image(&self, path: &str) -> bool {
        self.images.contains(path)
    }

    /// What was fetched stays.
    pub fn keep(&mut self, files: impl Iterator<Item = usize>, images: impl Iterator<Item = Box<str>>) {
        if self.keeps_files {
            self.files.extend(files);
        }
        self.images.extend(images);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cache(warm: f64) -> Cache {
        let mut cache = Cache::default();
        cache.renew(&Dealt::new(1, 0, 1), Some(warm));
        cache
    }

    #[test]
    fn who_comes_with_nothing_fetches_each_file_once() {
        let mut cache = cache(0.0);
        assert!(!cache.is_warm() && !cache.has(3));
        cache.keep([3].into_iter(), ["/a.jpg".into()].into_iter());
        assert!(cache.has(3) && !cache.has(4) && cache.has_image("/a.jpg"));
        cache.renew(&Dealt::new(1, 0, 1), Some(0.0));
        assert!(!cache.has(3) && !cache.has_image("/a.jpg"));
    }

    #[test]
    fn who_was_there_before_asks_for_all_files_each_time_but_fetches_pictures_once() {
        let mut cache = cache(1.0);
        cache.keep([3].into_iter(), ["/a.jpg".into()].into_iter());
        assert!(cache.is_warm() && !cache.has(3) && cache.has_image("/a.jpg"));
    }

    #[test]
    fn of_ten_visits_six_are_warm() {
        for who in 0..20 {
            let (dealt, mut cache) = (Dealt::new(1, who, 1), Cache::default());
            let warm = (0..10).filter(|_| {
                cache.renew(&dealt, Some(0.6));
                cache.is_warm()
            });
            assert_eq!(warm.count(), 6);
        }
    }
}
