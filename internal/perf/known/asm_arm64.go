package known

const branchesInstructions = 6.5
