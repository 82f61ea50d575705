// Runs before the first paint, so that a chosen theme does not flash. Not a module on purpose.
try {
  var theme = localStorage.getItem('punctual.theme')
  if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme
} catch (e) {
  // Storage is forbidden: the system's theme holds.
}
