"""Synthesize: an agent writes one reply from all, weighing them critically.

The aggregate-and-synthesize step of Mixture-of-Agents (Wang et al., arXiv 2406.04692, section 2.2; public code
togethercomputer/MoA). The prompt is motet's own wording of the same idea; theirs puts the members' texts into the
system message, here they stand fenced at the end of the user's turn (see `motet.prompt`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from motet.aggregate.plurality import Plurality
from motet.message import Chat, Reply, hear
from motet.run import Agent, Run

NOTE = (
    "Below are replies of others to this. They may be wrong, one-sided or incomplete, however sure they sound: check "
    "them against each other and against what you know. Then give one reply of your own, the best that can be given, "
    "without mentioning that there were others."
)


@dataclass(frozen=True)
class Synthesize:
    """One reply written by `agent` from all of them.

    If that agent gives no usable reply, the plurality of the members' answers is taken instead, and that is noted.

    Args:
        agent: who writes.
        note: what it is told about the replies.
    """

    agent: Agent
    note: str = NOTE

    async def __call__(self, chat: Chat, replies: Sequence[Reply], run: Run) -> Reply:
        heard = hear(chat, replies, self.note).held(chat.form)  # what is wanted is a reply to the same question
        written = await run.all([run.answer(self.agent, heard)], need=0)
        if written:
            return written[0]
        run.note("the synthesis failed; the most frequent answer is given instead")
        return await Plurality()(chat, replies, run)
