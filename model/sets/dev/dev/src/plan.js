// Who has which room when.
const taken = new Map();

function reserve(room, hour, pupil) {
  const key = `${room}:${hour}`;
  if (taken.has(key)) throw new Error("taken");
  taken.set(key, pupil);
}

function free(room, hour) {
  taken.delete(`${room}:${hour}`);
}

// FIXME: forgets everything at a restart
function whoIs(room, hour) {
  return taken.get(`${room}:${hour}`);
}
module.exports = { reserve, free, whoIs };
