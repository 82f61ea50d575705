export default {
  decide: {
    title: 'Approvals',
    none: 'No requests waiting',
    noneText: 'Requests for rooms you approve appear here.',
    asked: (who: string, ago: string) => `${who} requested this ${ago}`,
    expires: (when: string) => `Rejected automatically ${when}`,
    passes: (when: string) => `Approved automatically ${when}`,
    agreed: (names: string) => `Approved by ${names}`,
    move: 'Requested time',
    all: 'Select all',
    mark: (title: string) => `Select ${title}`,
    chosen: (n: number) => `${n} selected`,
    approveAll: (n: number) => `Approve ${n}`,
    rejectAll: (n: number) => `Reject ${n}`,
  },
}
