use super::*;

#[test]
fn numbers_are_found_by_the_whole_name() {
    let text = "rchar: 12\nread_bytes: 4096\nVmHWM:\t    77 kB\n";
    assert_eq!(number_of(text, "rchar"), Some(12));
    assert_eq!(number_of(text, "read_bytes"), Some(4096));
    assert_eq!(number_of(text, "VmHWM"), Some(77));
    assert_eq!(number_of(text, "char"), None);
}

#[cfg(target_os = "linux")]
#[test]
fn reads_of_the_process_are_counted() {
    let before = Traffic::now();
    let text = fs::read_to_string("/proc/self/stat").expect("it is there");
    let traffic = Traffic::now().since(before);
    assert!(traffic.read_by_calls_bytes >= text.len() as u64);
}

#[cfg(all(target_os = "linux", feature = "space-map"))]
#[test]
fn a_process_has_memory() {
    assert!(Memory::now().peak_bytes > 0);
}
