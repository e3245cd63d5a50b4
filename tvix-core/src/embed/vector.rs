//! Vectors of length 1.

#[cfg(any(test, feature = "embed-candle", feature = "embed-http"))]
use super::Vector;

/// Scales `vector` to length 1 and returns the length it had; one of length 0 stays as it is.
pub(crate) fn normalise(vector: &mut [f32]) -> f64 {
    // In f64, since the square of a great f32 is infinite.
    let length = vector.iter().map(|value| f64::from(*value).powi(2)).sum::<f64>().sqrt();
    if length > 0.0 {
        for value in vector {
            *value = (f64::from(*value) / length) as f32;
        }
    }
    length
}

/// `values` scaled to length 1, or what is wrong with them: what every vector from outside of this crate
/// must pass.
#[cfg(any(test, feature = "embed-candle", feature = "embed-http"))]
pub(super) fn unit(mut values: Vec<f32>) -> Result<Vector, &'static str> {
    if values.iter().any(|value| !value.is_finite()) {
        return Err("a vector holds a number that is not finite");
    }
    if normalise(&mut values) == 0.0 {
        return Err("a vector is zero in every place");
    }
    Ok(values)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors_have_length_one_or_are_refused() {
        assert_eq!(unit(vec![3.0, -4.0]), Ok(vec![0.6, -0.8]));
        assert_eq!(unit(vec![1e38, 0.0]), Ok(vec![1.0, 0.0]));
        for wrong in [vec![0.0, 0.0], vec![], vec![f32::NAN], vec![f32::INFINITY, 1.0]] {
            assert!(unit(wrong.clone()).is_err(), "{wrong:?}");
        }
    }
}
