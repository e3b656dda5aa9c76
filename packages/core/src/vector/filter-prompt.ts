/** For the instructions of an agent that writes filters itself: what a filter may contain. */
export const FILTER_PROMPT = `A filter is a JSON object that is matched against metadata.
- Equality: { "source": "handbook" }. Nested fields: { "author.name": "Ada" }.
- Inside a field: $eq, $ne, $gt, $gte, $lt, $lte, $in, $nin, $exists, $contains, $all, $not. Example: { "year": { "$gte": 2020 } }.
- Around conditions: $and, $or, $nor, $not. Example: { "$or": [{ "source": "faq" }, { "year": 2024 }] }.
- Other operators are refused. $in, $nin and $all need a list; $exists needs true or false.
- Write the filter only, without an explanation.`;
