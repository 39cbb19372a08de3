// Stores a value in a cookie for a day, so that a reload or a restart of the server finds this visitor again.
export default function ({ data }) {
  document.cookie = `${data.name}=${data.value}; path=/; max-age=86400; SameSite=Strict`;
}
