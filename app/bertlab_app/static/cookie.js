// Stores a value in a cookie for a day, so that the app recognises this visitor after a reload or a restart of the server.
export default function ({ data }) {
  document.cookie = `${data.name}=${data.value}; path=/; max-age=86400; SameSite=Strict`;
}
