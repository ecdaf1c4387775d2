#!/bin/sh
# Names that rustc writes come out as c++filt shows them. usage: test_demangle.sh BUILD
. "$(dirname "$0")/lib.sh"
for tool in rustc nm c++filt; do
    command -v $tool >/dev/null || { echo "skipped: no $tool here"; exit 77; }
done
c++filt _RNvC6_123foo3bar | grep -q '^123foo.*::bar' || { echo 'skipped: c++filt does not know these names'; exit 77; }
cd "$tmp" || exit 1
cat >names.rs <<'RS'
use std::collections::HashMap;
pub struct Table<T, const N: usize> { rows: Vec<[T; N]> }
impl<T: Clone + std::fmt::Debug, const N: usize> Table<T, N> {
    #[inline(never)]
    pub fn grow(&mut self, x: [T; N], n: usize) -> usize { for _ in 0..n { self.rows.push(x.clone()); } self.rows.len() }
}
mod größe { #[inline(never)] pub fn build(n: usize) -> Vec<Box<[u8; 100]>> { (0..n).map(|i| Box::new([i as u8; 100])).collect() } }
trait Shape { fn area(&self) -> f64; }
impl Shape for (f64, f64) { #[inline(never)] fn area(&self) -> f64 { self.0 * self.1 } }
#[inline(never)] fn apply<F: Fn(usize) -> usize>(f: F, n: usize) -> usize { f(n) }
#[inline(never)] fn call(f: &dyn for<'a> Fn(&'a str) -> &'a str) -> usize { f("x").len() }
#[inline(never)] fn kind<T: ?Sized>(_: &T) -> usize { std::mem::size_of_val(_leak()) }
#[inline(never)] fn _leak() -> &'static u8 { &7 }
fn main() {
    let mut t = Table::<_, 3> { rows: vec![] };
    t.grow([String::from("x"), String::new(), String::new()], 10);
    let b = größe::build(1000);
    let mut m: HashMap<String, usize> = HashMap::new();
    for i in 0..100 { m.insert(format!("{}", i), apply(|x| x * i, b.len())); }
    let s: &dyn Shape = &(1.0, 2.0);
    let f: unsafe extern "C" fn(i32) -> i32 = unsafe { std::mem::transmute(main as *const ()) };
    println!("{} {} {} {}", m.len(), s.area(), call(&|x| x), kind(&f) + kind(&(1u128, 'c', true)) + kind("x") + kind(s));
}
RS
for form in v0 legacy; do
    extra=
    [ $form = v0 ] || extra=-Zunstable-options
    # shellcheck disable=SC2086
    rustc -O -A warnings -C symbol-mangling-version=$form $extra names.rs -o names 2>/dev/null || rustc -O -A warnings names.rs -o names 2>/dev/null ||
        { echo 'skipped: rustc does not work here'; exit 77; }
    nm names | awk '{ print $NF }' | grep -E '^_R|17h[0-9a-f]{16}E' | sort -u >mangled
    [ "$(wc -l <mangled)" -gt 100 ] || fail "$form: there are names to compare"
    "$build/tests/program_demangle" <mangled >ours
    # Crates have a hash there that says nothing to people; 128 bits and older umlauts are shown wrongly.
    c++filt -i <mangled | sed -E 's/\[[0-9a-f]{1,16}\]//g' >theirs
    paste mangled ours theirs | awk -F '\t' '$2 != $3 && $3 !~ /_>|_, |\$u/ { print; n++ } END { exit n > 0 }' >differ ||
        { fail "$form: names are those of c++filt"; head -5 differ; }
done
finish
