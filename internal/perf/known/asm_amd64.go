package known

const branchesInstructions = 13.5
