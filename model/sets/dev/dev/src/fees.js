// What pupils pay.
const { rate } = require("./conf");

const WEEKS_A_YEAR = 36;

function yearly(single) {
  return single * WEEKS_A_YEAR;
}

function monthly(single) {
  return yearly(single) / 12;
}

function withPenalty(sum, days) {
  // TODO: not on holidays
  return days > 14 ? sum + rate("late_penalty") : sum;
}

module.exports = { yearly, monthly, withPenalty };
