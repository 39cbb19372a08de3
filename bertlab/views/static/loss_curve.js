// The loss curve of the view Time machine (timeline.js), over steps on a logarithmic axis, with a dot for every snapshot.
import { clamp, formatCount } from "./numbers.js";

export const CURVE_HEIGHT = 132;

/**
 * Draw the loss curve and mark the snapshots `at` and, if not null, `against`.
 * Returns the plot area: {left, top, width, height, logSteps}; logSteps is log(1 + step) at its right end.
 */
export function drawLossCurve(context, { data, theme, at, against, label, width }) {
  const { curve, moments } = data;
  const losses = curve.loss.filter((value) => value !== null);
  const logSteps = Math.log1p(Math.max(moments.at(-1).step, ...curve.step, 1));
  const plot = { left: 34, top: 10, width: width - 34 - 12, height: CURVE_HEIGHT - 10 - 22, logSteps };
  const [low, high] = losses.length ? [Math.min(...losses), Math.max(...losses)] : [0, 1];
  const x = (step) => plot.left + (Math.log1p(step) / logSteps) * plot.width;
  const y = (loss) => plot.top + (1 - (loss - low) / Math.max(high - low, 1e-6)) * plot.height;
  context.font = `${theme.size * 0.82}px ${theme.family}`;
  context.fillStyle = theme.muted;
  context.strokeStyle = theme.hair;
  context.lineWidth = 1;
  context.textAlign = "center";
  let nextFreeX = -Infinity;
  for (const step of [0, ...Array.from({ length: 12 }, (_, i) => 10 ** (i + 1))]) {
    if (Math.log1p(step) > logSteps) break;
    context.beginPath();
    context.moveTo(x(step), plot.top);
    context.lineTo(x(step), plot.top + plot.height);
    context.stroke();
    if (x(step) < nextFreeX) continue;
    context.fillText(formatCount(step), clamp(x(step), plot.left, width - 24), CURVE_HEIGHT - 9);
    nextFreeX = x(step) + context.measureText(formatCount(step)).width + 10;
  }
  if (losses.length) {
    context.textAlign = "right";
    context.fillText(high.toFixed(1), plot.left - 6, plot.top + 4);
    context.fillText(low.toFixed(1), plot.left - 6, plot.top + plot.height - 4);
    context.textAlign = "left";
    context.fillText(label, plot.left + 6, plot.top + plot.height - 6);
  }
  context.strokeStyle = theme.muted;
  context.lineWidth = 1.5;
  context.beginPath();
  let hasPoint = false; // a missing loss interrupts the line
  curve.loss.forEach((loss, i) => {
    if (loss === null) hasPoint = false;
    else if (hasPoint) context.lineTo(x(curve.step[i]), y(loss));
    else { context.moveTo(x(curve.step[i]), y(loss)); hasPoint = true; }
  });
  context.stroke();
  // the y coordinate of the curve at the logged step that is closest to the given one
  const curveY = (step) => {
    let best = -1;
    curve.step.forEach((other, i) => { if (curve.loss[i] !== null && (best < 0 || Math.abs(other - step) < Math.abs(curve.step[best] - step))) best = i; });
    return best < 0 ? plot.top + plot.height / 2 : y(curve.loss[best]);
  };
  for (const { step } of moments) {
    context.beginPath();
    context.arc(x(step), curveY(step), 3, 0, 7);
    context.fillStyle = theme.ground;
    context.strokeStyle = theme.muted;
    context.fill();
    context.stroke();
  }
  const mark = (at, colour, dash) => {
    const { step } = moments[at];
    context.strokeStyle = context.fillStyle = colour;
    context.lineWidth = 2;
    context.setLineDash(dash);
    context.beginPath();
    context.moveTo(x(step), plot.top - 4);
    context.lineTo(x(step), plot.top + plot.height);
    context.stroke();
    context.setLineDash([]);
    context.beginPath();
    context.arc(x(step), curveY(step), 5.5, 0, 7);
    context.fill();
  };
  if (against !== null) mark(against, theme.segments[1], [5, 4]);
  mark(at, theme.accent, []);
  return plot;
}
