//! Arithmetic on signed bytes: the inner loops of the vector scan and of the built-in model.
//!
//! Each portable loop is compiled several times, each for a set of processor features, and the best
//! that this processor has is chosen at the first call. All give the same sums: there is no rounding.

use std::sync::LazyLock;

/// Dot products of one vector with many, laid out one after another: one sum each.
type Dots = fn(&[i8], &[i8], &mut [i32]);

/// Adds a row, scaled, to a sum.
type Add = fn(&[i8], f32, &mut [f32]);

/// Kernels and the processor features that they use.
struct Kernel {
    features: &'static str,
    dots: Dots,
    add: Add,
}

static BEST: LazyLock<Kernel> = LazyLock::new(best);

/// The dot product of two vectors of one length.
pub fn dot(one: &[i8], other: &[i8]) -> i32 {
    let mut sum = [0];
    dots(one, other, &mut sum);
    sum[0]
}

/// Writes the dot product of `vector` with each row of `rows` to `sums`. Rows are as long as `vector`,
/// at most 65,536; rows without a place in `sums` are left out.
pub fn dots(vector: &[i8], rows: &[i8], sums: &mut [i32]) {
    if !vector.is_empty() {
        (BEST.dots)(vector, rows, sums);
    }
}

/// Adds `scale` times each number of `row` to its place in `sum`.
pub(crate) fn add(row: &[i8], scale: f32, sum: &mut [f32]) {
    (BEST.add)(row, scale, sum);
}

/// The processor features in use, for reports.
pub fn features() -> &'static str {
    BEST.features
}

// Each copy must be compiled into its caller, or it would not use the caller's features.
#[expect(clippy::inline_always)]
#[inline(always)]
fn portable_add(row: &[i8], scale: f32, sum: &mut [f32]) {
    for (sum, code) in sum.iter_mut().zip(row) {
        *sum += scale * f32::from(*code);
    }
}

#[expect(clippy::inline_always)]
#[inline(always)]
fn portable(vector: &[i8], rows: &[i8], sums: &mut [i32]) {
    for (row, sum) in rows.chunks_exact(vector.len()).zip(sums) {
        let products = vector.iter().zip(row).map(|(a, b)| i32::from(*a) * i32::from(*b));
        *sum = products.sum();
    }
}

fn fallback(vector: &[i8], rows: &[i8], sums: &mut [i32]) {
    portable(vector, rows, sums);
}

fn fallback_add(row: &[i8], scale: f32, sum: &mut [f32]) {
    portable_add(row, scale, sum);
}

const FALLBACK: Kernel = Kernel { features: "portable", dots: fallback, add: fallback_add };

#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code)]
mod x86 {
    #[target_feature(enable = "avx2")]
    fn avx2_loop(vector: &[i8], rows: &[i8], sums: &mut [i32]) {
        super::portable(vector, rows, sums);
    }

    #[target_feature(enable = "avx2")]
    fn avx2_add_loop(row: &[i8], scale: f32, sum: &mut [f32]) {
        super::portable_add(row, scale, sum);
    }

    pub(super) fn avx2_add(row: &[i8], scale: f32, sum: &mut [f32]) {
        // SAFETY: chosen only where the processor has the feature; the loop is safe code.
        unsafe { avx2_add_loop(row, scale, sum) }
    }

    #[target_feature(enable = "avx512f,avx512bw,avx512vl")]
    fn avx512_loop(vector: &[i8], rows: &[i8], sums: &mut [i32]) {
        super::portable(vector, rows, sums);
    }

    pub(super) fn avx2(vector: &[i8], rows: &[i8], sums: &mut [i32]) {
        // SAFETY: chosen only where the processor has the feature; the loop is safe code.
        unsafe { avx2_loop(vector, rows, sums) }
    }

    pub(super) fn avx512(vector: &[i8], rows: &[i8], sums: &mut [i32]) {
        // SAFETY: chosen only where the processor has the features; the loop is safe code.
        unsafe { avx512_loop(vector, rows, sums) }
    }
}

/// All kernels that this processor can run, the best first.
fn available() -> Vec<Kernel> {
    let mut kernels = Vec::new();
    #[cfg(target_arch = "x86_64")]
    {
        let wide = is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512vl")
            && is_x86_feature_detected!("avx2");
        if wide {
            kernels.push(Kernel { features: "avx512bw", dots: x86::avx512, add: x86::avx2_add });
        }
        if is_x86_feature_detected!("avx2") {
            kernels.push(Kernel { features: "avx2", dots: x86::avx2, add: x86::avx2_add });
        }
    }
    kernels.push(FALLBACK);
    kernels
}

fn best() -> Kernel {
    available().into_iter().next().unwrap_or(FALLBACK)
}

#[cfg(test)]
mod tests {
    use super::*;

    proptest::proptest! {
        #[test]
        fn every_kernel_gives_the_exact_sums(
            rows in proptest::collection::vec(proptest::collection::vec(proptest::prelude::any::<i8>(), 77), 1..9),
        ) {
            let exact = |row: &[i8]| -> i32 {
                rows[0].iter().zip(row).map(|(a, b)| i32::from(*a) * i32::from(*b)).sum()
            };
            let wanted: Vec<i32> = rows.iter().map(|row| exact(row)).collect();
            for kernel in available() {
                let mut sums = vec![0; rows.len()];
                (kernel.dots)(&rows[0], &rows.concat(), &mut sums);
                assert_eq!(sums, wanted, "{}", kernel.features);
            }
        }

        #[test]
        fn every_kernel_adds_alike(
            row in proptest::collection::vec(proptest::prelude::any::<i8>(), 77), scale in 0.0_f32..2.0,
        ) {
            let wanted: Vec<f32> = row.iter().map(|code| 0.5 + scale * f32::from(*code)).collect();
            for kernel in available() {
                let mut sum = vec![0.5; row.len()];
                (kernel.add)(&row, scale, &mut sum);
                assert_eq!(sum, wanted, "{}", kernel.features);
            }
        }
    }

    #[test]
    fn the_extremes_of_a_byte_do_not_overflow() {
        let row = vec![-128; 65_536];
        for kernel in available() {
            let mut sums = [0];
            (kernel.dots)(&row, &row, &mut sums);
            assert_eq!(sums, [128 * 128 * 65_536], "{}", kernel.features);
        }
        assert_eq!(dot(&[], &[]), 0);
    }
}
