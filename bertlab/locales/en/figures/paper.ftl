figure-split-test = test set
figure-split-dev = dev set
figure-split-validation = ours, validation rows
