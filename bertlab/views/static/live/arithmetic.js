// The arithmetic of BERT on Float32Arrays. JavaScript computes every number, and so every sum, with 64 bits; therefore
// results are at least as exact as in Python. Shapes: T tokens, H hidden size, O outputs and I inputs of a linear layer.

/**
 * A linear layer: output_TO = input_TI · weight_OI^T + bias_O. A weight is an integer (code) times the scale of its row, so
 * the integers are summed up and the sum is scaled.
 */
export function linear(input_TI, { codes_OI, scale_O }, bias_O) {
  const O = scale_O.length;
  const I = codes_OI.length / O;
  const T = input_TI.length / I;
  const output_TO = new Float32Array(T * O);
  // Two rows of the input and four of the weights at a time: each number that is read from memory is used several times.
  // The numbers are converted to 64 bits beforehand, not again with each use. Missing rows of a last group of four are zeros.
  const x_TI = Float64Array.from(input_TI);
  const w_4I = new Float64Array(4 * I);
  for (let o = 0; o < O; o += 4) {
    const rows = Math.min(4, O - o);
    for (let i = 0; i < rows * I; i++) w_4I[i] = codes_OI[o * I + i];
    if (rows < 4) w_4I.fill(0, rows * I);
    for (let t = 0; t < T; t += 2) {
      const u = Math.min(t + 1, T - 1); // if only one row is left, it is computed twice
      let x0 = 0, x1 = 0, x2 = 0, x3 = 0, y0 = 0, y1 = 0, y2 = 0, y3 = 0;
      for (let i = 0, x = t * I, y = u * I; i < I; i++, x++, y++) {
        const xi = x_TI[x], yi = x_TI[y];
        const a = w_4I[i], b = w_4I[I + i], c = w_4I[2 * I + i], d = w_4I[3 * I + i];
        x0 += xi * a; x1 += xi * b; x2 += xi * c; x3 += xi * d;
        y0 += yi * a; y1 += yi * b; y2 += yi * c; y3 += yi * d;
      }
      const [xs, ys] = [[x0, x1, x2, x3], [y0, y1, y2, y3]];
      for (let r = 0; r < rows; r++) {
        output_TO[t * O + o + r] = xs[r] * scale_O[o + r] + bias_O[o + r];
        output_TO[u * O + o + r] = ys[r] * scale_O[o + r] + bias_O[o + r];
      }
    }
  }
  return output_TO;
}

/** LayerNorm of each row: (x - mean) / sqrt(variance + eps) * weight + bias (Ba et al. 2016). */
export function layerNorm(hidden_TH, weight_H, bias_H, eps) {
  const H = weight_H.length;
  const normed_TH = new Float32Array(hidden_TH.length);
  for (let start = 0; start < hidden_TH.length; start += H) {
    let mean = 0, variance = 0;
    for (let h = 0; h < H; h++) mean += hidden_TH[start + h] / H;
    for (let h = 0; h < H; h++) variance += (hidden_TH[start + h] - mean) ** 2 / H;
    const scale = 1 / Math.sqrt(variance + eps);
    for (let h = 0; h < H; h++) normed_TH[start + h] = (hidden_TH[start + h] - mean) * scale * weight_H[h] + bias_H[h];
  }
  return normed_TH;
}

/** Replace scores by exp(score) / sum of exp; the largest score is subtracted first, so that no exp overflows. */
export function softmax(scores) {
  let largest = -Infinity, sum = 0;
  for (const score of scores) largest = Math.max(largest, score);
  for (let i = 0; i < scores.length; i++) sum += scores[i] = Math.exp(scores[i] - largest);
  for (let i = 0; i < scores.length; i++) scores[i] /= sum;
  return scores;
}

/** GELU(x) = x times the probability that a normally distributed number is below x (Hendrycks and Gimpel 2016). */
export function gelu(x) {
  return 0.5 * x * (1 + erf(x * Math.SQRT1_2));
}

/** The approximation of GELU with tanh that google-research/bert uses. */
export function geluTanh(x) {
  return 0.5 * x * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (x + 0.044715 * x ** 3)));
}

// erf(x) is the integral of 2/√π · exp(-t²) from 0 to x. JavaScript lacks it, so its values at 0, 1/64, 2/64, ... are
// computed once, each from the previous one by Simpson's rule. From 4 on, erf(x) is 1 - 1.5e-8 or closer to 1.
const STEPS_PER_UNIT = 64;
const END = 4.5;
const slope = (x) => (2 / Math.sqrt(Math.PI)) * Math.exp(-x * x);
const ERF = new Float64Array(END * STEPS_PER_UNIT + 2);
const SLOPE = ERF.map((_, i) => slope(i / STEPS_PER_UNIT));
for (let i = 1; i < ERF.length; i++) {
  ERF[i] = ERF[i - 1] + (SLOPE[i - 1] + 4 * slope((i - 0.5) / STEPS_PER_UNIT) + SLOPE[i]) / (6 * STEPS_PER_UNIT);
}

/** The error function; its error is below 1e-9. Between two values of the table it is a Taylor series of three terms. */
export function erf(x) {
  const size = Math.abs(x);
  if (size >= END) return Math.sign(x);
  const i = Math.round(size * STEPS_PER_UNIT);
  const nearest = i / STEPS_PER_UNIT;
  const d = size - nearest;
  return Math.sign(x) * (ERF[i] + SLOPE[i] * d * (1 - nearest * d + ((2 * nearest * nearest - 1) * d * d) / 3));
}
