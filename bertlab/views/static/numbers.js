// Numbers of the view Time machine (timeline.js): bounds and formats.

/** Limit a value to low..high. */
export const clamp = (value, low, high) => Math.min(Math.max(value, low), high);

/** Format a count with commas between thousands. */
export const formatCount = (number) => Math.round(number).toLocaleString("en-US");

/** Format a share in percent, as `views/numbers.py` does. */
export const formatPercent = (share) => (share > 0 && share < 0.001 ? "< 0.1%" : `${(share * 100).toFixed(1)}%`);
