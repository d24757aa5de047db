use super::*;
use std::io::Write;

fn times(buckets: &[(u64, u64)]) -> CallTimes {
    CallTimes(buckets.iter().map(|(ns, count)| TimeBucket { ns: *ns, count: *count }).collect())
}

fn packed(bytes: &[u8]) -> String {
    let mut deflated = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::default());
    deflated.write_all(bytes).unwrap();
    let deflated = deflated.finish().unwrap();
    let header = [(COOKIE + 1).to_be_bytes(), (deflated.len() as u32).to_be_bytes()].concat();
    STANDARD.encode([header, deflated].concat())
}

fn refusal(text: &str) -> String {
    decode("all", text).unwrap_err().what
}

#[test]
fn what_is_written_is_read_again() {
    let ends = [0, 1, 104, 2047, 2049, 4099, 1_000_447, LONGEST_NS];
    let written = times(&ends.map(|ns| (ns, ns % 7 + 1)));
    assert_eq!(decode("all", &encode(&written)), Ok(written));
    assert_eq!(decode("all", &encode(&times(&[]))), Ok(times(&[])));
    let many = times(&(0..31 * 1024).map(|i| (CallTimes::bucket_at(i).unwrap(), i % 1000 + 1)).collect::<Vec<_>>());
    assert_eq!(decode("all", &encode(&many)), Ok(many));
}

/// What HdrHistogram_py wrote with a range of 1 to 2^40 - 1 and three digits.
#[test]
fn a_histogram_of_another_library_is_read() {
    let text = "HISTFAAAACV4nJNpmSzMwMDAzgABzFCaEYj/g4D9B4jAecYtjGv1mACxyQne";
    assert_eq!(decode("all", text), Ok(times(&[(104, 90), (4099, 1)])));
}

#[test]
fn hostile_texts_are_refused_before_they_take_memory() {
    let sound = STANDARD.decode(encode(&times(&[(104, 90)]))).unwrap();
    let bytes = unpack(&sound).unwrap();
    assert_eq!(decode("all", &packed(&bytes)), Ok(times(&[(104, 90)])));
    let with = |at: usize, value: &[u8]| {
        let mut bytes = bytes.clone();
        bytes[at..at + value.len()].copy_from_slice(value);
        refusal(&packed(&bytes))
    };
    assert!(with(0, &[9]).contains("version"));
    assert!(with(4, &u32::MAX.to_be_bytes()).contains("length"));
    assert!(with(12, &5u32.to_be_bytes()).contains("digits"));
    assert!(with(24, &u64::MAX.to_be_bytes()).contains("range"));
    assert!(refusal("=").contains("base64"));
    assert!(refusal("").contains("unpacked"));
    assert!(refusal(&STANDARD.encode([0; 40])).contains("unpacked"));
    assert!(refusal(&"A".repeat(MOST_TEXT + 1)).contains("long"));
    assert!(refusal(&packed(&[bytes.clone(), vec![0; 1 << 24]].concat())).contains("length"));
    let counts = [&bytes[..HEADER], &[0xff; 30]].concat();
    // Zeros beyond the last bucket end the text without a call in them.
    let longer = [&counts[..4], &30u32.to_be_bytes(), &counts[8..]].concat();
    assert!(decode("all", &packed(&longer)).is_err());
    for numbers in [vec![0x80], vec![0xff; 9], [vec![0xff; 8], vec![0xfe, 2]].concat()] {
        let length = (numbers.len() as u32).to_be_bytes();
        let text = packed(&[&bytes[..4], &length, &bytes[8..HEADER], &numbers].concat());
        assert!(decode("all", &text).map_or(true, |times| times.0.is_empty()), "{numbers:?}");
    }
}

#[test]
fn parts_are_parts_of_the_whole() {
    let all = times(&[(104, 90), (4099, 2)]);
    assert!(part_of(&all, "preempted", &encode(&times(&[(4099, 2)]))).is_ok());
    for wrong in [times(&[(4099, 3)]), times(&[(105, 1)])] {
        let invalid = part_of(&all, "preempted", &encode(&wrong)).unwrap_err();
        assert_eq!(invalid.place, "latency.times.preempted");
    }
}
