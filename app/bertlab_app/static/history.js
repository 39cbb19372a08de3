// When a link opens a page and fills its fields, as in a step of a lesson, Streamlit adds two addresses to the browser's
// history: the first one already has the new values of the fields, but still the previous page. This component lets the
// second address replace the first, so that the back button does not lead to the first.
const MAX_DELAY_MS = 5000; // between the two addresses, which a busy server adds one after the other

export default function () {
  if (window.bertlabHistory) return;
  // the latest address if it may be the first of two, otherwise ""; and when it was added
  const half = (window.bertlabHistory = { address: "", time: 0 });
  const push = history.pushState.bind(history);
  history.pushState = (state, title, address) => {
    const { pathname, search } = new URL(address, location.href);
    const isPageNew = pathname !== location.pathname;
    const isHalfNew = half.address === location.href && Date.now() - half.time < MAX_DELAY_MS;
    if (isPageNew && isHalfNew && search === location.search) history.replaceState(state, title, address);
    else push(state, title, address);
    Object.assign(half, { address: isPageNew ? "" : location.href, time: Date.now() });
  };
}
